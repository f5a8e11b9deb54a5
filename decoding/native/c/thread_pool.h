/* A thread pool with dynamic scheduling, whose caller never waits for a thread that is not running.
 *
 * A step has some three hundred parallel loops. When other programs compete for the processors, OpenMP's barrier at the
 * end of each would wait for threads that have not been scheduled. Here the caller and all helpers that happen to run
 * claim parts of the loop until none is left; the caller then waits only for parts already claimed.
 */
#pragma once

#include "types.h"
#include "waiting.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define MAX_HELPERS 127
#define PARTS_PER_THREAD 8 /* small parts, so that an interrupted thread delays little */
/* Time that a thread spins before it sleeps: a helper long enough to stay awake between steps, the caller briefly. Given
 * in nanoseconds because a pause instruction takes 9 ns on one processor and 50 on another. */
#define HELPER_SPIN_NS 400000
#define CALLER_SPIN_NS 50000
#define PAUSES_AT_ONCE 8

/* Body of a parallel loop: processes items first … last. */
typedef void part(const void *work, long first, long last);

static struct {
    pthread_mutex_t taken; /* held by the caller whose loop is running */
    atomic_ulong ticket;   /* the loop's number, its number of parts, the next part to claim: 32, 16 and 16 bits */
    atomic_uint posted, finished, sleeping, waiting;
    part *doing;
    const void *work;
    long items;
    unsigned long runs; /* of parts that lie side by side: see run_parts */
    int helpers;
} team = {.taken = PTHREAD_MUTEX_INITIALIZER};

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

/* Spin until a word no longer has this value, for at most spin_ns; returns 1 if it has changed. */
static int spin_until_changed(atomic_uint *word, unsigned value, long spin_ns) {
    const long until = nanoseconds() + spin_ns;
    do
        for (int i = 0; i < PAUSES_AT_ONCE; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) return 1;
            pause_briefly();
        }
    while (nanoseconds() < until);
    return 0;
}

/* Claim and run parts until none is left; returns how many this thread ran. */
static unsigned run_parts(void) {
    unsigned done = 0;
    for (unsigned long ticket = atomic_load(&team.ticket);;) {
        unsigned long next = ticket & 0xffff, parts = ticket >> 16 & 0xffff;
        if (next >= parts) return done;
        /* Once the exchange succeeds, team.doing, work and items stay valid: the caller waits for claimed parts. */
        if (!atomic_compare_exchange_weak(&team.ticket, &ticket, ticket + 1)) continue;
        /* Threads that claim in turn get neighbouring parts each: what one prefetches is what it does next. */
        const unsigned long here = next % team.runs * (parts / team.runs) + next / team.runs;
        team.doing(team.work, team.items * here / parts, team.items * (here + 1) / parts);
        done++;
        if (atomic_fetch_add(&team.finished, 1) + 1 == parts && atomic_load(&team.waiting)) wake(&team.finished);
        ticket = atomic_load(&team.ticket);
    }
}

static void *help(void *unused) {
    for (;;) {
        const unsigned posted = atomic_load(&team.posted);
        if (run_parts()) continue;
        if (spin_until_changed(&team.posted, posted, HELPER_SPIN_NS)) continue;
        atomic_fetch_add(&team.sleeping, 1);
        sleep_while(&team.posted, posted);
    }
    return unused;
}

/* Called in a forked child, which has none of its parent's threads. */
static void reset_after_fork(void) {
    pthread_mutex_init(&team.taken, 0);
    reset_waiting();
    team.helpers = 0;
    atomic_store(&team.sleeping, 0);
    atomic_store(&team.ticket, 0);
}

static void start_helpers(int helpers) {
    static int prepared;
    if (!prepared) prepared = !pthread_atfork(0, 0, reset_after_fork);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* helpers inherit the mask: signals go to the program's own threads */
    for (pthread_t thread; team.helpers < helpers && team.helpers < MAX_HELPERS; team.helpers++) {
        if (pthread_create(&thread, 0, help, 0)) break;
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, 0);
}

/* Process all items on up to so many threads; serially if another caller uses the pool. An item's result must not depend
 * on how items are split into parts. */
static void parallel_for(part *doing, const void *work, long items, int threads) {
    if (threads < 2 || items < 2 || pthread_mutex_trylock(&team.taken)) {
        doing(work, 0, items);
        return;
    }
    if (team.helpers < threads - 1) start_helpers(threads - 1);
    const long most = PARTS_PER_THREAD * threads;
    const unsigned long parts = items < most ? items : most;
    team.doing = doing, team.work = work, team.items = items, team.runs = parts % threads ? 1 : threads;
    atomic_store(&team.finished, 0);
    const unsigned posted = atomic_load(&team.posted) + 1;
    atomic_store(&team.ticket, (unsigned long)posted << 32 | parts << 16);
    atomic_store(&team.posted, posted);
    if (atomic_load(&team.sleeping) && atomic_exchange(&team.sleeping, 0)) wake(&team.posted);
    run_parts();
    unsigned finished;
    while ((finished = atomic_load(&team.finished)) < parts) {
        if (spin_until_changed(&team.finished, finished, CALLER_SPIN_NS)) continue;
        /* Sleep, which frees the processor for a thread that was interrupted in its part. */
        atomic_store(&team.waiting, 1);
        if (atomic_load(&team.finished) == finished) sleep_while(&team.finished, finished);
        atomic_store(&team.waiting, 0);
    }
    pthread_mutex_unlock(&team.taken);
}
