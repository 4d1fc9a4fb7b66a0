# For scripts that run tests written in Python.

# A Python that has the module: of the PATH, or the system's own, for which distributions package modules.
python_with() { # MODULE
  for python in ${PYTHON:-} python3 /usr/bin/python3; do
    "$python" -c "import $1" >/dev/null 2>&1 && { echo "$python"; return; }
  done
}

# Packages of the Python index, where .ci/deps installs them.
PYTHONPATH=$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
