# The rule compiler refuses invalid rules, and says where they are.

== an unbound variable
$ printf 'bad x // a => y ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: variable 'y' of the right side is not bound by the left side
? 1

== an unbound variable of a condition
$ printf '# comment\nbad x // a => x if b > 1 ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:2: error: variable 'b' of the condition is not bound by the left side
? 1

== a name used twice
$ printf 'one x // 1 => x ; why\none x %% 1 => 0 ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:2: error: rule 'one' is already defined on line 1
? 1

== a rule that is shadowed by an earlier one
$ printf 'one (x // a) // b => x // (a*b) ; why\ntwo (y // c) // d => y ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:2: error: 'two' is shadowed by 'one' on line 1, which matches whatever it matches
? 1

== a rule that is shadowed by an earlier, more general one
$ printf 'one x // a => x ; why\ntwo (y %% 3) // 2 => y ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:2: error: 'two' is shadowed by 'one' on line 1, which matches whatever it matches
? 1
$ printf 'one min(x, x) => x ; why\ntwo min(x, y) => y ; why\nthree min(y %% 2, y %% 2) => y ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:3: error: 'three' is shadowed by 'one' on line 1, which matches whatever it matches
? 1

== a special case may come before the general rule, or after it where that one has a condition
$ printf 'one x // 1 => x ; why\ntwo x // a => x if a > 3 ; why\nthree x // 4 => x ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c

== a repeated rule
$ printf 'one x %% a => x if a > 1 ; why\ntwo x %% a => 0 if a > 1 ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:2: error: 'two' repeats 'one' on line 1
? 1

== a left side with a subtraction
$ printf 'bad (x - y) // a => x ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: left side is not in canonical form: there is no subtraction, write x + y*a with a constant a
? 1

== a left side with a constant first
$ printf 'bad (c + x) // a => x ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: left side is not in canonical form: the constant of a sum comes last
? 1

== a left side with a comparison that is not used
$ printf 'bad x <= c => x < c + 1 ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: left side is not in canonical form: comparisons are < >= == !=
? 1

== a rule without a reason
$ printf 'bad x // 1 => x\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: rule 'bad' gives no reason: write '; why' at its end
? 1

== text that is not a rule
$ printf 'bad x // => x ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: expected an expression before 'end of line'
? 1

== an unknown function
$ printf 'bad abs(x) => x ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: unknown function 'abs'
? 1

== an unbound variable of a witness
$ printf 'bad x // a => x by x // a == y ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: variable 'y' of the witness is not bound by the left side
? 1

== an unbound variable of a weight, and a measure of nothing
$ printf 'measure x + y = x + z\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: variable 'z' of the weight is not bound by the left side
? 1
$ printf 'measure x + y\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: expected ' = '
? 1
