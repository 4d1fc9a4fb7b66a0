# The programs of docs/examples, built against the public header and the library alone.
<<< build.sh
tree=$(dirname "$(command -v viewfold)")
case $tree in
*san-address) flags=-fsanitize=address,undefined ;;
*san-*) flags=-fsanitize=${tree##*san-} ;;
*) flags= ;;
esac
exec ${CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror $flags -I"$TEST_ROOT/frontend" "$TEST_ROOT/docs/examples/$1.c" \
  "$tree/libviewfold.so.0" -Wl,-rpath,"$tree" -lm -o "$1"
>>>

== the program of the README
$ sh build.sh scale && ./scale
0 1.5
0.5 2
1 2.5

== symbolic sizes
$ sh build.sh sizes && ./sizes
n=8: 2.5 25
program @means: variable n is 10; it was declared as 4..1048576:4
n=12: 2.5 25 0.25

== lazy tensors
$ sh build.sh fit && ./fit
y = 3.000 x + -1.000

== derivatives
$ sh build.sh newton && ./newton
f(-1.0000, 2.0000) = 104
f(-1.0101, 1.0201) = 4.04
f(0.9602, -2.9599) = 1507
f(0.9602, 0.9221) = 0.00158
f(1.0000, 0.9984) = 0.0002497
f(1.0000, 1.0000) = 2.505e-17

== a training step of two layers, whose parameters are one tree
$ sh build.sh train_tree && ./train_tree
learnt the product

== a training step with weights in place
$ sh build.sh train && ./train
w = 2.00 -1.00 0.50, b = 3.00, loss 0.0000

== heat on a plate whose rows are divided
$ sh build.sh heat && for n in 1 4; do VIEWFOLD_THREADS=1 ./heat $n; done
1 devices: after 500 steps the plate has 84.4448853 at most
4 devices: after 500 steps the plate has 84.4448853 at most

== learning to read digits: a network of two layers
$ sh build.sh digits_mlp && VIEWFOLD_THREADS=1 ./digits_mlp "$TEST_ROOT/docs/examples/digits/digits.pgm" loss.svg
1160 steps: [..] of 360 digits held out are read right, 9[..] %
$ grep -c '<polyline fill="none" stroke="#06c" points="0.0,' loss.svg
1

== learning to read digits: a convolutional network, alone and on four devices; the losses of the first steps are the same
$ sh build.sh digits_conv && for n in 1 4; do VIEWFOLD_THREADS=1 ./digits_conv "$TEST_ROOT/docs/examples/digits/digits.pgm" $n.svg $n; done
15338 weights, 348 steps: [..] of 360 digits held out are read right, 9[..] %
15338 weights, 348 steps: [..] of 360 digits held out are read right, 9[..] %
$ grep -c '<polyline fill="none" stroke="#06c" points="0.0,' 1.svg
1
$ for n in 1 4; do grep -o '0.0,[0-9. ,]*' $n.svg | head -1 | cut -d ' ' -f 1-40 > $n; done; grep -c . 1; diff 1 4
1

== learning to read digits: two networks that see one data set in axes of their own
$ sh build.sh digits_views && VIEWFOLD_THREADS=1 ./digits_views "$TEST_ROOT/docs/examples/digits/digits.pgm"
12 epochs; of 360 digits held out, images [..] right, 9[..] %, rows [..] right, 9[..] %

== learning to read digits: files that are not data
$ sh build.sh digits_mlp && ./digits_mlp build.sh
! build.sh: not the 1797 digits of docs/examples/digits/digits.pgm
? 1

== a gradient for each example
$ sh build.sh rows && ./rows
point 0: error 0, by slope 0, by offset 0
point 1: error 0, by slope 0, by offset 0
point 2: error 0, by slope 0, by offset 0
point 3: error 16, by slope -24, by offset -8

== a game of life in place
$ sh build.sh life && ./life
\#.........##
............
............
............
...........#
\#...........

== a key-value cache
$ sh build.sh kv_cache && ./kv_cache
256 positions, the last one within 1e-5: yes
graph @advance: gather i64[256,16], %position axis=0: %position[0] is 256, but axis 0 of what it indexes has 256 elements ([..]kv_cache.c:15); indices are -256 to 255, or any with mode="clip" or mode="fill". The results are unspecified
unchanged

== views without arrays
$ sh build.sh views && ./views
V((6,3);(1,1);0)
(ridx0+ridx1)
no inverse

== a second process compiles nothing
$ sh build.sh scale && ./scale > first && VIEWFOLD_COMPILE=0 ./scale | cmp - first

== an empty cache, and compiling not allowed
$ sh build.sh sizes && VIEWFOLD_COMPILE=0 ./sizes
! [..]VIEWFOLD_COMPILE[..]
? 1

== custom operations: a function, source text, a composition
$ sh build.sh custom && ./custom
-1 0 0.25
-0.5 0.125 0.25
1 0.5 1
3 1 1
