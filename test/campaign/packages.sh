#!/bin/sh
# Packages of Debian, built where nothing was but git and make, and used where nothing was at all: `make deb` in a fresh
# system, lintian without errors, the packages installed in another, and there README's programs and the example project.
#
# LEVEL test, short: skipped, since two systems are fetched. full: all of it; as root, with mmdebstrap. SUITE names another release of
# Debian than bookworm.
. test/campaign/common.sh
[ "$level" = full ] || skip "two systems are fetched, which only full does"
[ "$(id -u)" = 0 ] || skip "needs root, for the systems"
command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap"
suite=${SUITE:-bookworm}
failed=0
fail() { echo "FAIL $*"; failed=1; }
chmod 755 "$work" # for the user _apt
# system NAME PACKAGES: a fresh one in $work/NAME. When its processes end, nothing of it is mounted.
system() {
  mmdebstrap --quiet --variant=minbase --include="ca-certificates,$2" "$suite" "$work/$1" >"$work/log" 2>&1 || { tail -3 "$work/log"; skip "no system of $suite can be fetched"; }
}
within() { # NAME SCRIPT
  unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -ec "$2"' within "$work/$1" "$2" >"$work/log" 2>&1
}

system maker git,make
git clone -q . "$work/maker/viewfold" 2>/dev/null || skip "not a checkout"
within maker 'cd /viewfold && make deb' || { tail -30 "$work/log"; fail "make deb"; exit 1; }
grep ' warning: ' "$work/log" && fail "warnings of the compiler"
made=$work/maker/viewfold/build/deb
for name in libviewfold0 libviewfold-dev viewfold viewfold-llvm; do
  [ "$(find "$made" -name "${name}_*.deb" | wc -l)" = 1 ] || fail "a package $name"
done
if within maker 'apt-get -qq install -y --no-install-recommends lintian && lintian --allow-root --fail-on error /viewfold/build/deb/*.changes'; then
  grep -c '^W:' "$work/log" | sed 's/$/ warnings of lintian/'
else
  grep '^E:' "$work/log" || tail -3 "$work/log"
  fail lintian
fi

system user gcc,libc6-dev,pkg-config,make,cmake,man-db
mkdir "$work/user/in"
find "$made" -name '*.deb' ! -name '*dbgsym*' -exec cp -t "$work/user/in" {} +
cp -R README.md docs/examples/project "$work/user/in"
within user 'apt-get -qq update; apt-get -qq install -y --no-install-recommends /in/*.deb' || { tail -20 "$work/log"; fail "apt install ./*.deb"; }
cat >"$work/user/in/programs.sh" <<'SCRIPT'
cd /in
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' README.md >scale.c
cc -std=c99 -Wall -Wextra -pedantic -Werror scale.c $(pkg-config --cflags --libs viewfold) -o scale && ./scale
awk '/^\$ cat blur.vf$/ { on = 1; next } /^\$ viewfold build/ { on = 0 } on' README.md >blur.vf
awk '/^\$ cat main.c$/ { on = 1; next } /^\$ cc main.c/ { on = 0 } on' README.md >main.c
viewfold build blur.vf -o blur.o --header blur.h --target x86-64-v3
cc main.c blur.o -o blur && ./blur
viewfold index 'f32[3,2].permute(1,0).reshape(3,2).pad((1,0),(0,0))'
make -s -C project example 2>&1 && project/example
cmake -S project -B cmake >/dev/null && cmake --build cmake >/dev/null && cmake/example
man -w vf_vmap >/dev/null && VIEWFOLD_DEBUG=log viewfold run 'f32[3].flip(0)' --in 'x=[1,2,3]' 2>&1
SCRIPT
within user 'sh -e /in/programs.sh' || fail "programs of README"
cat >"$work/expected" <<'LINES'
0 1.5
0.5 2
1 2.5
5 5.5 6
10 11 12
20 21 22
10 10.5 11
(ridx1+(((ridx1-ridx0)+1)%5))
valid: (ridx0>=1)
5 10 20 10
5.5 11 21 10.5
6 12 22 11
5 10 20 10
5.5 11 21 10.5
6 12 22 11
y: f32[3] = [3.0, 2.0, 1.0]
LINES
diff "$work/expected" "$work/log" || fail "what the programs print"
[ $failed = 0 ] && echo "four packages, built and installed in fresh systems of $suite"
exit $failed
