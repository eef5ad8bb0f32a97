/* The standard output of a new process, through a pipe. Include it after kit.h and child.h. */
#ifndef OUTPUT_KIT_H
#define OUTPUT_KIT_H

static char output[65536];
static int output_pipe[2];
static void (*prepare_further)(void);

KIT_UNUSED static void print_to_the_pipe(void)
{
	dup2(output_pipe[1], STDOUT_FILENO);
	close(output_pipe[0]);
	close(output_pipe[1]);
	if (prepare_further)
		prepare_further();
}

/* True in the new process. The first one keeps its output; its exit status must be `status`. */
KIT_UNUSED static int in_new_process(const char *variable, void (*prepare)(void), int status)
{
	struct rerun how = { .environment = { variable, "ALCHEMY_SCHED=other" }, .prepare = print_to_the_pipe };
	size_t used = 0;
	ssize_t got;
	int result;

	if (rerunning())
		return 1;
	prepare_further = prepare;
	if (!prepare)
		how.environment[1] = NULL;
	CHECK_EQ(pipe(output_pipe), 0);
	result = rerun(&how); /* the output has to fit into the pipe */
	close(output_pipe[1]);
	while ((got = read(output_pipe[0], output + used, sizeof(output) - 1 - used)) > 0)
		used += (size_t)got;
	output[used] = '\0';
	close(output_pipe[0]);
	if (result == KIT_EXIT_SKIPPED) {
		fputs(output, stdout);
		fflush(stdout);
		_exit(KIT_EXIT_SKIPPED);
	}
	if (result != status)
		fputs(how.text, stderr);
	CHECK_EQ(result, status);
	return 0;
}

#endif /* OUTPUT_KIT_H */
