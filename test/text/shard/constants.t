# Constants on a mesh: each device maps, or copies, and packs its part alone.
<<< weights.py
import json, struct
rows, columns = 96, 80
elements = [((7 * i + 3) % 23 - 11) / 4 for i in range(rows * columns)]
head = json.dumps({"w": {"dtype": "F32", "shape": [rows, columns], "data_offsets": [0, 4 * len(elements)]}}).encode()
head += b" " * (-len(head) % 64)
open("w.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack(f"<{len(elements)}f", *elements))
given = [(i * 5 % 13 - 6) / 2 for i in range(6 * rows)]
print("h=" + json.dumps([given[i:i + rows] for i in range(0, len(given), rows)]))
>>>
<<< w.vf
graph @g(%h: f32[6,96]) {
  %w = data file="w.safetensors" name="w"
  %y = matmul %h, %w
  %t = permute %w order=[1,0]
  %z = matmul %y, %t
  return %z
}
>>>

== however it is divided, also into uneven parts, the result is that of one device
$ python3 weights.py > h.txt
$ for mesh in x=4 x=2,y=2 x=7 x=3,y=2; do for spec in '[x,-]' '[-,x]'; do viewfold run w.vf --in "$(cat h.txt)" --mesh $mesh --shard "w=$spec" --check | tail -1; done; done
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
$ for spec in '[x,y]' '[y.x,-]' '[-,y.x]'; do viewfold run w.vf --in "$(cat h.txt)" --mesh x=2,y=2 --shard "w=$spec" --check | tail -1; done
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal
check z: 576 elements, bit-equal

== other elements in the file are other parts
$ python3 weights.py > h.txt
$ viewfold run w.vf --in "$(cat h.txt)" --mesh x=4 --shard 'w=[x,-]' --out z=a.npy
$ python3 -c "f = open('w.safetensors', 'r+b'); f.seek(-4, 2); f.write(b'\0\0\0\0')"
$ viewfold run w.vf --in "$(cat h.txt)" --mesh x=4 --shard 'w=[x,-]' --check | tail -1
check z: 576 elements, bit-equal
