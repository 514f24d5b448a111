/*
 * A disk that can fail, put in front of the C library with LD_PRELOAD. It counts every call that changes a
 * file below one folder, does something bad at one of them, and keeps a journal of what was done.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING, FAIL, FULL, SHORT, TEAR, DIE_BEFORE, DIE_AFTER, FAIL_FROM_HERE };

static char folder[PATH_MAX];
static long position = -1, count = 0;
static int kind = NOTHING, journal = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

void lab_arm(const char *where, long at, int what, int journal_descriptor) {
    snprintf(folder, sizeof folder, "%s", where);
    position = at, kind = what, journal = journal_descriptor, count = 0;
}

long lab_count(void) { return count; }

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t done = REAL(write)(journal, at, size);
        if (done <= 0) return;
        at += done, size -= done;
    }
}

/* A line `op|path|other|offset|size`, and then the data. */
static void note(const char *op, const char *path, const char *other, long long offset, const void *data, size_t size) {
    char line[3 * PATH_MAX];
    if (journal < 0) return;
    int length = snprintf(line, sizeof line, "%s|%s|%s|%lld|%zu\n", op, path, other, offset, size);
    put(line, length);
    if (data) put(data, size);
}

static int below(const char *path) { return folder[0] && strncmp(path, folder, strlen(folder)) == 0; }

static int named(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    /* SQLite's shared memory is not kept, and is made anew after a crash. */
    return below(path) && !(length > 4 && strcmp(path + length - 4, "-shm") == 0);
}

/* Count one call; tell what is to happen at it. */
static int next(void) {
    long at = count++;
    if (kind == FAIL_FROM_HERE && at >= position && position >= 0) return FAIL;
    return at == position ? kind : NOTHING;
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

static int failed(int what) {
    if (what == DIE_BEFORE) die();
    if (what == FAIL || what == FULL) { errno = what == FULL ? ENOSPC : EIO; return 1; }
    return 0;
}

static ssize_t writing(int descriptor, const void *data, size_t size, long long offset) {
    char path[PATH_MAX];
    if (!named(descriptor, path))
        return offset < 0 ? REAL(write)(descriptor, data, size) : REAL(pwrite)(descriptor, data, size, offset);
    pthread_mutex_lock(&lock);
    long long place = offset < 0 ? lseek(descriptor, 0, SEEK_CUR) : offset;
    int what = next();
    ssize_t done = -1;
    if (!failed(what)) {
        if ((what == SHORT || what == TEAR) && size > 1) size /= 2;
        done = REAL(pwrite)(descriptor, data, size, place);
        if (done > 0) {
            note("write", path, "", place, data, done);
            if (offset < 0) lseek(descriptor, place + done, SEEK_SET);
        }
        if (what == TEAR || what == DIE_AFTER) die();
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

ssize_t write(int d, const void *data, size_t size) { return writing(d, data, size, -1); }
ssize_t pwrite(int d, const void *data, size_t size, off_t at) { return writing(d, data, size, at); }
ssize_t pwrite64(int d, const void *data, size_t size, off64_t at) { return writing(d, data, size, at); }

static int simple(const char *op, int descriptor, long long size, int (*call)(int)) {
    char path[PATH_MAX];
    if (!named(descriptor, path)) return call ? call(descriptor) : REAL(ftruncate)(descriptor, size);
    pthread_mutex_lock(&lock);
    int what = next(), result = -1;
    if (failed(what)) {
        /* What was not synced is not on the disk, and the system does not know that any more. */
        if (call) note("bad-sync", path, "", 0, NULL, 0);
    } else {
        if (what == TEAR) die();
        result = call ? call(descriptor) : REAL(ftruncate)(descriptor, size);
        if (!result) note(op, path, "", size, NULL, 0);
        if (what == DIE_AFTER) die();
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int fsync(int d) { return simple("sync", d, 0, REAL(fsync)); }
int fdatasync(int d) { return simple("sync", d, 0, REAL(fdatasync)); }
int ftruncate(int d, off_t size) { return simple("truncate", d, size, NULL); }
int ftruncate64(int d, off64_t size) { return simple("truncate", d, size, NULL); }

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    char path[PATH_MAX];
    if (!named(out, path)) return REAL(copy_file_range)(in, from, out, to, size, flags);
    errno = EXDEV; /* so that the caller reads and writes, which the journal can follow */
    return -1;
}

int rename(const char *old, const char *new) {
    if (!below(new) && !below(old)) return REAL(rename)(old, new);
    pthread_mutex_lock(&lock);
    int what = next(), result = -1;
    if (!failed(what)) {
        if (what == TEAR) die();
        result = REAL(rename)(old, new);
        if (!result) note("rename", old, new, 0, NULL, 0);
        if (what == DIE_AFTER) die();
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

static int removing(const char *op, const char *path, int (*call)(const char *)) {
    if (!below(path)) return call(path);
    pthread_mutex_lock(&lock);
    int what = next(), result = -1;
    if (!failed(what)) {
        if (what == TEAR) die();
        result = call(path);
        if (!result) note(op, path, "", 0, NULL, 0);
        if (what == DIE_AFTER) die();
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int unlink(const char *path) { return removing("remove", path, REAL(unlink)); }
int rmdir(const char *path) { return removing("remove", path, REAL(rmdir)); }

int mkdir(const char *path, mode_t mode) {
    int result = REAL(mkdir)(path, mode);
    if (!result && below(path)) note("folder", path, "", 0, NULL, 0);
    return result;
}

static int opening(int at, const char *path, int flags, mode_t mode) {
    int (*call)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
    int is_new = (flags & O_CREAT) && below(path) && access(path, F_OK) != 0;
    int descriptor = call(at, path, flags, mode);
    if (descriptor >= 0 && is_new) note("create", path, "", 0, NULL, 0);
    return descriptor;
}

#define MODE(flags) ({ mode_t m = 0; if (flags & O_CREAT) { va_list a; va_start(a, flags); m = va_arg(a, mode_t); va_end(a); } m; })

int open(const char *path, int flags, ...) { return opening(AT_FDCWD, path, flags, MODE(flags)); }
int open64(const char *path, int flags, ...) { return opening(AT_FDCWD, path, flags, MODE(flags)); }
