/* Two-phase commit as Gray and Lamport specify it, the same model as two_phase.py, for Spin:
 *
 *     spin -a -DN=7 two_phase.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan
 *
 * Messages are never consumed, every resource manager may prepare or abort on its own, and
 * nobody crashes. One d_step is one action, and no process ever leaves the head of its loop,
 * so Spin's stored states are exactly the states of the model: 288, 8,832 and 296,448 for
 * three, five and seven resource managers.
 */

#ifndef N
#define N 7
#endif

#define ALL ((1 << N) - 1)
#define ME (1 << _pid)

mtype = { init_, working, prepared, committed, aborted };

mtype tm = init_;
mtype rm[N] = working;
short told = 0;      /* whose "prepared" the transaction manager has read */
short said = 0;      /* whose "prepared" is under way */
bool commit = false; /* "commit" is under way to all */
bool abort = false;  /* "abort" is under way to all */

active [N] proctype Resource() {
end:
	do
	:: d_step { rm[_pid] == working -> rm[_pid] = prepared; said = said | ME }
	:: d_step { rm[_pid] == working -> rm[_pid] = aborted }
	:: d_step { commit -> rm[_pid] = committed }
	:: d_step { abort -> rm[_pid] = aborted }
	/* the transaction manager reads this one's "prepared" */
	:: d_step { tm == init_ && (said & ME) -> told = told | ME }
	od
}

active proctype Manager() {
end:
	do
	:: d_step { tm == init_ && told == ALL -> tm = committed; commit = true }
	:: d_step { tm == init_ -> tm = aborted; abort = true }
	od
}
