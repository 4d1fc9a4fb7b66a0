# The rule compiler refuses a rule that cannot be right, and says where.

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

== a rule that an earlier one always takes first
$ printf 'one (x // a) // b => x // (a*b) ; why\ntwo (y // c) // d => y ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:2: error: 'two' is shadowed by 'one' on line 1, which has the same left side
? 1

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

== no reason
$ printf 'bad x // 1 => x\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: rule 'bad' gives no reason: write '; why' at its end
? 1

== text that is no rule
$ printf 'bad x // => x ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: expected an expression before 'end of line'
? 1

== an unknown function
$ printf 'bad abs(x) => x ; why\n' > t.rules; "$TEST_ROOT"/build/rulec t.rules out.c
! t.rules:1: error: unknown function 'abs'
? 1
