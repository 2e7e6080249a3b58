/* A disk and a clock that fail on command, preloaded into a process: see faults.py, which lays out the same block. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct block {
    int64_t fail_write, fail_sync, fail_rename, fail_open; /* calls that still fail; below zero: all of them */
    int64_t error;                                         /* their errno */
    int64_t part;                                          /* bytes that a failing write takes before it fails */
    int64_t hang;                                          /* nonzero: whatever writes or opens waits until it is zero again */
    int64_t waiting;                                       /* calls that wait because of `hang` */
    int64_t clock;                                         /* nanoseconds that the wall clock is off */
    int64_t die_at;                                        /* calls until the process is killed; zero: never */
    int64_t die_half;                                      /* nonzero: a write is half done when the process dies */
    int64_t calls;                                         /* calls so far */
    int64_t no_locks;                                      /* errno of flock; zero: it works */
    int64_t delay;                                         /* microseconds that every write takes longer */
};

static struct block *block;
static const char *root;
static size_t root_length;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Take another block: for one of several children of a process. */
void faults_use(const char *path) {
    int descriptor = REAL(open)(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) block = mapped;
    close(descriptor);
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_BLOCK");
    root = getenv("FAULTS_ROOT");
    if (!path || !root) return;
    root_length = strlen(root);
    faults_use(path);
}

static int below(const char *path) {
    return block && path && strncmp(path, root, root_length) == 0;
}

static int descriptor_below(int descriptor) {
    char link[64], path[4096];
    if (!block || descriptor < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Waits where the disk hangs. */
static void wait_for_disk(void) {
    if (!__atomic_load_n(&block->hang, __ATOMIC_SEQ_CST)) return;
    __atomic_add_fetch(&block->waiting, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&block->hang, __ATOMIC_SEQ_CST)) usleep(500);
    __atomic_sub_fetch(&block->waiting, 1, __ATOMIC_SEQ_CST);
}

/* Whether the process is to die at this call; counts it, and waits where the disk hangs. */
static int dies(void) {
    __atomic_add_fetch(&block->calls, 1, __ATOMIC_SEQ_CST);
    wait_for_disk();
    return block->die_at > 0 && __atomic_sub_fetch(&block->die_at, 1, __ATOMIC_SEQ_CST) == 0;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int fails(int64_t *left) {
    int64_t now = __atomic_load_n(left, __ATOMIC_SEQ_CST);
    if (now == 0) return 0;
    if (now > 0 && __atomic_sub_fetch(left, 1, __ATOMIC_SEQ_CST) < 0) return 0;
    errno = block->error ? (int)block->error : EIO;
    return 1;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (!descriptor_below(descriptor)) return REAL(write)(descriptor, bytes, count);
    if (dies()) {
        if (block->die_half) REAL(write)(descriptor, bytes, count / 2);
        die();
    }
    if (block->delay) usleep((useconds_t)block->delay);
    if (block->fail_write && block->part > 0 && (size_t)block->part < count) {
        size_t some = (size_t)block->part;
        block->part = 0; /* a short write now, the error at the next call */
        return REAL(write)(descriptor, bytes, some);
    }
    return fails(&block->fail_write) ? -1 : REAL(write)(descriptor, bytes, count);
}

int fsync(int descriptor) {
    if (!descriptor_below(descriptor)) return REAL(fsync)(descriptor);
    if (dies()) die();
    return fails(&block->fail_sync) ? -1 : REAL(fsync)(descriptor);
}

int fdatasync(int descriptor) {
    if (!descriptor_below(descriptor)) return REAL(fdatasync)(descriptor);
    if (dies()) die();
    return fails(&block->fail_sync) ? -1 : REAL(fdatasync)(descriptor);
}

int rename(const char *from, const char *to) {
    if (!below(to)) return REAL(rename)(from, to);
    if (dies()) die();
    return fails(&block->fail_rename) ? -1 : REAL(rename)(from, to);
}

int unlink(const char *path) {
    if (below(path) && dies()) die();
    return REAL(unlink)(path);
}

int mkdir(const char *path, mode_t mode) {
    if (below(path) && dies()) die();
    return REAL(mkdir)(path, mode);
}

static int opened(const char *path, int flags) {
    if (!below(path)) return 1;
    if (!(flags & O_CREAT)) {
        wait_for_disk();
        return 1;
    }
    if (dies()) die();
    return !fails(&block->fail_open);
}

#define OPEN(name)                                              \
    int name(const char *path, int flags, ...) {                \
        va_list rest;                                           \
        va_start(rest, flags);                                  \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                           \
        return opened(path, flags) ? REAL(name)(path, flags, mode) : -1; \
    }
OPEN(open)
OPEN(open64)

int flock(int descriptor, int operation) {
    if (descriptor_below(descriptor) && block->no_locks) {
        errno = (int)block->no_locks;
        return -1;
    }
    return REAL(flock)(descriptor, operation);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int status = REAL(clock_gettime)(which, now);
    if (status == 0 && block && which == CLOCK_REALTIME && block->clock) {
        int64_t whole = now->tv_sec * 1000000000LL + now->tv_nsec + block->clock;
        now->tv_sec = whole / 1000000000LL;
        now->tv_nsec = whole % 1000000000LL;
    }
    return status;
}
