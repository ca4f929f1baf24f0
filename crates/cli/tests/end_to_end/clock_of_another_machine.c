/* Gives a process the monotonic clock of another machine: TEST_CLOCK_AHEAD_S seconds ahead of the real clock, and
   TEST_CLOCK_PPM parts per million faster. LD_PRELOAD loads this library before the C library, so the functions of this
   file replace those of the C library. If a thread waits until an instant of the changed clock, the instant is
   converted to the real clock. Only for Linux on x86-64. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

static long long began, ahead, ppm;

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static long long of(const struct timespec *time) { return time->tv_sec * 1000000000LL + time->tv_nsec; }

static struct timespec as_time(long long ns) {
    struct timespec time = {ns / 1000000000LL, ns % 1000000000LL};
    return time;
}

__attribute__((constructor)) static void begin(void) {
    struct timespec now;
    const char *text = getenv("TEST_CLOCK_AHEAD_S");
    ahead = text ? atoll(text) * 1000000000LL : 0;
    text = getenv("TEST_CLOCK_PPM");
    ppm = text ? atoll(text) : 0;
    call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    began = of(&now);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long result = call(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    if (clock == CLOCK_MONOTONIC) {
        long long now = of(time);
        *time = as_time(now + ahead + (now - began) * ppm / 1000000);
    }
    return 0;
}

long syscall(long number, ...) {
    long given[6];
    struct timespec until;
    va_list all;
    va_start(all, number);
    for (int at = 0; at < 6; at++)
        given[at] = va_arg(all, long);
    va_end(all);
    if (number == SYS_futex && (given[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && !(given[1] & FUTEX_CLOCK_REALTIME) && given[3]) {
        long long since = of((const struct timespec *)given[3]) - ahead - began;
        until = as_time(began + since * 1000000 / (1000000 + ppm));
        given[3] = (long)&until;
    }
    long result = call(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
