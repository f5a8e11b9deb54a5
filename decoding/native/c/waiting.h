/* Sleeping until a word changes: the kernel's futex on Linux, elsewhere a mutex and a condition. */
#pragma once

#include <limits.h>
#include <stdatomic.h>

#if defined(__linux__) && !defined(PORTABLE_WAITING)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void sleep_while(atomic_uint *word, unsigned value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}
static void wake(atomic_uint *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0); }
static void reset_waiting(void) {}
#else
#include <pthread.h>

static pthread_mutex_t waiting_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Returns at any wake, of this word or another: callers look again. Whoever changes the word wakes afterwards, and needs
 * the mutex for that, so that no change falls between the look and the wait. */
static void sleep_while(atomic_uint *word, unsigned value) {
    pthread_mutex_lock(&waiting_mutex);
    if (atomic_load(word) == value) pthread_cond_wait(&changed, &waiting_mutex);
    pthread_mutex_unlock(&waiting_mutex);
}
static void wake(atomic_uint *word) {
    (void)word;
    pthread_mutex_lock(&waiting_mutex);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&waiting_mutex);
}
/* Called in a forked child: a thread that it does not have may have held the mutex. */
static void reset_waiting(void) {
    pthread_mutex_init(&waiting_mutex, 0);
    pthread_cond_init(&changed, 0);
}
#endif
