/* Threads that share work, and wait for nobody who has not begun.
 *
 * Where other programs have processors too, a barrier of OpenMP waits for threads that are not running: in a step there
 * are some three hundred. Here whoever calls takes part after part until none is left, the others do as well if they
 * run, and waiting is only for parts under way.
 */
#pragma once

#include "types.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_HELPERS 127
#define PARTS_OF_A_THREAD 8 /* small ones, so that a thread that is held up leaves the rest to the others */
/* Nanoseconds before a thread sleeps: a helper from step to step, over all that is done between them; the caller but
 * shortly. Not pauses, which take 9 ns on one processor and 50 on another. */
#define PATIENCE_OF_HELPERS 400000
#define PATIENCE_OF_CALLER 50000
#define PAUSES_AT_ONCE 8

/* Do a share of the work: items first … last. */
typedef void part(const void *work, long first, long last);

static struct {
    pthread_mutex_t taken; /* by the caller that is helped */
    atomic_ulong ticket;   /* the work's number, its parts and the next of these: 32, 16 and 16 bits */
    atomic_uint posted, finished, sleeping, waiting;
    part *doing;
    const void *work;
    long items;
    int helpers;
} team = {.taken = PTHREAD_MUTEX_INITIALIZER};

static void sleep_while(atomic_uint *word, unsigned value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}
static void wake(atomic_uint *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0); }

inlined void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* Wait until a word has another value, for so many nanoseconds at most; returns if it has. */
static int changes(atomic_uint *word, unsigned value, long patience) {
    const long until = nanoseconds() + patience;
    do
        for (int i = 0; i < PAUSES_AT_ONCE; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) return 1;
            pause_briefly();
        }
    while (nanoseconds() < until);
    return 0;
}

/* Take parts until none is left; returns the number of those done. */
static unsigned take_parts(void) {
    unsigned done = 0;
    for (unsigned long ticket = atomic_load(&team.ticket);;) {
        unsigned long next = ticket & 0xffff, parts = ticket >> 16 & 0xffff;
        if (next >= parts) return done;
        /* What was posted stays while one of its parts is taken and not finished. */
        if (!atomic_compare_exchange_weak(&team.ticket, &ticket, ticket + 1)) continue;
        team.doing(team.work, team.items * next / parts, team.items * (next + 1) / parts);
        done++;
        if (atomic_fetch_add(&team.finished, 1) + 1 == parts && atomic_load(&team.waiting)) wake(&team.finished);
        ticket = atomic_load(&team.ticket);
    }
}

static void *help(void *unused) {
    for (;;) {
        const unsigned posted = atomic_load(&team.posted);
        if (take_parts()) continue;
        if (changes(&team.posted, posted, PATIENCE_OF_HELPERS)) continue;
        atomic_fetch_add(&team.sleeping, 1);
        sleep_while(&team.posted, posted);
    }
    return unused;
}

/* A process that was forked has none of its parent's threads. */
static void forget_helpers(void) {
    pthread_mutex_init(&team.taken, 0);
    team.helpers = 0;
    atomic_store(&team.sleeping, 0);
    atomic_store(&team.ticket, 0);
}

static void hire(int helpers) {
    static int prepared;
    if (!prepared) prepared = !pthread_atfork(0, 0, forget_helpers);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's own threads' */
    for (pthread_t thread; team.helpers < helpers && team.helpers < MAX_HELPERS; team.helpers++) {
        if (pthread_create(&thread, 0, help, 0)) break;
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, 0);
}

/* Do all items, by as many threads as are free. What an item yields must not depend on the parts. */
static void share_out(part *doing, const void *work, long items, int threads) {
    if (threads < 2 || items < 2 || pthread_mutex_trylock(&team.taken)) {
        doing(work, 0, items);
        return;
    }
    if (team.helpers < threads - 1) hire(threads - 1);
    const long most = PARTS_OF_A_THREAD * threads;
    const unsigned long parts = items < most ? items : most;
    team.doing = doing, team.work = work, team.items = items;
    atomic_store(&team.finished, 0);
    const unsigned posted = atomic_load(&team.posted) + 1;
    atomic_store(&team.ticket, (unsigned long)posted << 32 | parts << 16);
    atomic_store(&team.posted, posted);
    if (atomic_load(&team.sleeping) && atomic_exchange(&team.sleeping, 0)) wake(&team.posted);
    take_parts();
    unsigned finished;
    while ((finished = atomic_load(&team.finished)) < parts) {
        if (changes(&team.finished, finished, PATIENCE_OF_CALLER)) continue;
        /* The processor is left to a thread that was interrupted in its part. */
        atomic_store(&team.waiting, 1);
        if (atomic_load(&team.finished) == finished) sleep_while(&team.finished, finished);
        atomic_store(&team.waiting, 0);
    }
    pthread_mutex_unlock(&team.taken);
}
