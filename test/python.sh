# For scripts that run tests written in Python.

# A Python that has the module: of the PATH, or the system's own, for which distributions package modules.
python_with() { # MODULE
  for python in ${PYTHON:-} python3 /usr/bin/python3; do
    "$python" -c "import $1" >/dev/null 2>&1 && { echo "$python"; return; }
  done
}

# The folder with Python.h, of version 3.11 or later, of a Python that is here; nothing where there is none.
python_include() {
  for python in ${PYTHON:-} python3 /usr/bin/python3; do
    "$python" -c 'import sys, sysconfig, os
path = sysconfig.get_path("include")
sys.exit(not (sys.version_info >= (3, 11) and os.path.exists(path + "/Python.h") and print(path) is None))' 2>/dev/null && return
  done
}
[ "${1:-}" = include ] && python_include

# Packages of the Python index, where .ci/deps installs them.
PYTHONPATH=$PWD/build/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
