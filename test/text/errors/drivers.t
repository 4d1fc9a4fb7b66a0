# OpenCL drivers that cannot be opened: files of the vendors' folder that name a missing library, a file that
# is no library, or nothing. (The loader asks for a driver once in a process.)

== no driver can be opened: a status and a message, and the CPU device is available
@needs ldconfig -p | grep -q 'libOpenCL\.so\.1' || /sbin/ldconfig -p | grep -q 'libOpenCL\.so\.1'
<<< text.so
not a library
>>>
$ mkdir missing text empty nothing; echo libnothing-of-the-kind.so.1 >missing/a.icd; echo "$PWD/text.so" >text/a.icd; : >empty/a.icd
$ for folder in missing text empty nothing nowhere; do
> OCL_ICD_VENDORS=$PWD/$folder viewfold run 'f32[2].flip(0)' --in x=[1,2] --device opencl; echo $?; done
3
3
3
3
3
! viewfold run: OpenCL: the loader knows no platform; drivers say where they are in files of /etc/OpenCL/vendors. On Debian the package pocl-opencl-icd has one for the processor
! viewfold run: OpenCL: the loader knows no platform; drivers say where they are in files of /etc/OpenCL/vendors. On Debian the package pocl-opencl-icd has one for the processor
! viewfold run: OpenCL: the loader knows no platform; drivers say where they are in files of /etc/OpenCL/vendors. On Debian the package pocl-opencl-icd has one for the processor
! viewfold run: OpenCL: the loader knows no platform; drivers say where they are in files of /etc/OpenCL/vendors. On Debian the package pocl-opencl-icd has one for the processor
! viewfold run: OpenCL: the loader knows no platform; drivers say where they are in files of /etc/OpenCL/vendors. On Debian the package pocl-opencl-icd has one for the processor
$ OCL_ICD_VENDORS=$PWD/text viewfold devices | grep -v '^ '
cpu[..]
OpenCL: the loader knows no platform; [..]
$ OCL_ICD_VENDORS=$PWD/text viewfold run 'f32[2].flip(0)' --in x=[1,2] --device cpu
y: f32[2] = [2.0, 1.0]

== a driver that can be opened besides those
@needs test -e /etc/OpenCL/vendors/pocl.icd && viewfold devices | grep -q '^opencl:'
$ mkdir all .pocl; echo libnothing-of-the-kind.so.1 >all/a.icd; echo "$PWD/all/a.icd" >all/b.icd; : >all/c.icd
$ cp /etc/OpenCL/vendors/pocl.icd all/d.icd; echo libnothing-of-the-kind.so.2 >all/e.icd
$ OCL_ICD_VENDORS=$PWD/all viewfold devices | grep -c '^opencl:'
1
$ OCL_ICD_VENDORS=$PWD/all POCL_CACHE_DIR=$PWD/.pocl viewfold run 'f32[2].flip(0)' --in x=[1,2] --device opencl
y: f32[2] = [2.0, 1.0]
