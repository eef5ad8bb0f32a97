/* Cases that do what test_kit.rs expects of them. */
#define AT_SECONDS 1
#include <alchemy-test.h>

static void passes(void)
{
	at_mark("a");
	at_mark_number("b", 1);
	at_expect("a b1");
	at_forget_marks();
	at_expect("");
}

static void fails(void)
{
	at_mark("a");
	at_check_eq(-EINVAL, 0);
}

static void hangs(void)
{
	at_mark("waits");
	for (;;)
		pause();
}

static void is_skipped(void)
{
	at_skip("for a reason");
}

AT_CASES(AT_CASE_IN(passes, AT_LOCKSTEP), AT_CASE_IN(fails, AT_LOCKSTEP), AT_CASE_IN(hangs, AT_LOCKSTEP),
	 AT_CASE_IN(is_skipped, AT_LOCKSTEP))
