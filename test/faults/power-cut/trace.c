/*
 * Preloaded into a receiver, it writes down what the process does to the files of its inbox: each write with its bytes, each change of
 * length and of the folder, and when a sync begins and ends. A record is appended when its call has had its effect and before the call
 * returns, so that whatever follows from the call stands behind it, also where another process appends.
 *
 *   HOOKLINE_TRACE_FILES  how the paths of the inbox's files begin
 *   HOOKLINE_TRACE        where the records go
 *
 * SIGUSR2 kills the process at its next record: a process killed within one would leave half a record.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPENED = 1, CREATED, WRITTEN, CUT, UNLINKED, RENAMED, SYNCING, SYNCED, UNKNOWN };

struct head {
  uint32_t magic, type;
  uint64_t inode, offset;
  uint32_t name_length, data_length;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t dying;
static int trace = -1;
static char prefix[PATH_MAX], folder[PATH_MAX];
static size_t prefix_length;

static void die_soon(int signal) {
  (void)signal;
  dying = 1;
}

__attribute__((constructor)) static void begin(void) {
  const char *files = getenv("HOOKLINE_TRACE_FILES"), *to = getenv("HOOKLINE_TRACE");
  if (files == NULL || to == NULL) return;
  trace = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_APPEND | O_CLOEXEC);
  snprintf(prefix, sizeof prefix, "%s", files);
  snprintf(folder, sizeof folder, "%s", files);
  prefix_length = strlen(prefix);
  *strrchr(folder, '/') = 0;
  signal(SIGUSR2, die_soon);
}

#define NEXT(name) \
  static __typeof__(name) *next; \
  if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define LOCK pthread_mutex_lock(&one_at_a_time)
#define UNLOCK pthread_mutex_unlock(&one_at_a_time)

/* Memory that all processes share is no part of what a disk keeps. */
static int is_ours(const char *path) {
  size_t length = strlen(path);
  return trace >= 0 && strncmp(path, prefix, prefix_length) == 0 && (length < 4 || strcmp(path + length - 4, "-shm") != 0);
}

static int path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return 1;
}

static int ours(int fd) {
  char path[PATH_MAX];
  int before = errno;
  int is = trace >= 0 && fd != trace && path_of(fd, path) && is_ours(path);
  errno = before;
  return is;
}

static int is_folder(int fd) {
  char path[PATH_MAX];
  return trace >= 0 && path_of(fd, path) && strcmp(path, folder) == 0;
}

static uint64_t inode_of(int fd) {
  struct stat found;
  return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

static void record(uint32_t type, uint64_t inode, uint64_t offset, const char *name, const void *data, uint32_t length) {
  int before = errno;
  struct head head = {0x4b4c4b48, type, inode, offset, name == NULL ? 0 : strlen(name), length};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)name, head.name_length}, {(void *)data, length}};
  ssize_t whole = sizeof head + head.name_length + length;
  if (syscall(SYS_writev, trace, parts, 3) != whole) abort();
  if (dying) kill(getpid(), SIGKILL);
  errno = before;
}

static void written(int fd, uint64_t offset, const void *data, ssize_t length) {
  if (length > 0) record(WRITTEN, inode_of(fd), offset, NULL, data, length);
}

static void all_written(int fd, uint64_t offset, const struct iovec *parts, ssize_t left) {
  for (int i = 0; left > 0; i += 1) {
    ssize_t length = left < (ssize_t)parts[i].iov_len ? left : (ssize_t)parts[i].iov_len;
    written(fd, offset, parts[i].iov_base, length);
    offset += length;
    left -= length;
  }
}

/* Where a write began that has moved the file's own place. */
static uint64_t behind(int fd, ssize_t done) {
  return lseek(fd, 0, SEEK_CUR) - done;
}

/* Records a call after its effect: `done` is its return value. */
#define TRACED(type, name, parameters, arguments, condition, tell) \
  type name parameters { \
    NEXT(name); \
    if (!(condition)) return next arguments; \
    LOCK; \
    type done = next arguments; \
    tell; \
    UNLOCK; \
    return done; \
  }

TRACED(ssize_t, pwrite64, (int fd, const void *data, size_t length, off64_t offset), (fd, data, length, offset), ours(fd),
       written(fd, offset, data, done))
TRACED(ssize_t, write, (int fd, const void *data, size_t length), (fd, data, length), ours(fd),
       if (done > 0) written(fd, behind(fd, done), data, done))
TRACED(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t offset), (fd, parts, count, offset), ours(fd),
       all_written(fd, offset, parts, done))
TRACED(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), ours(fd),
       if (done > 0) all_written(fd, behind(fd, done), parts, done))
TRACED(int, ftruncate64, (int fd, off64_t length), (fd, length), ours(fd),
       if (done == 0) record(CUT, inode_of(fd), length, NULL, NULL, 0))
TRACED(int, unlink, (const char *path), (path), is_ours(path),
       if (done == 0) record(UNLINKED, 0, 0, path, NULL, 0))
TRACED(int, rename, (const char *from, const char *to), (from, to), is_ours(from) || is_ours(to),
       if (done == 0) record(RENAMED, 0, 0, from, to, strlen(to)))

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
  return pwrite64(fd, data, length, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return pwritev64(fd, parts, count, offset);
}

int ftruncate(int fd, off_t length) {
  return ftruncate64(fd, length);
}

/* Records calls that a replay cannot repeat, so that it can refuse the trace. */
#define REFUSED(name, parameters, arguments) \
  int name parameters { \
    NEXT(name); \
    if (ours(fd)) record(UNKNOWN, inode_of(fd), 0, #name, NULL, 0); \
    return next arguments; \
  }
REFUSED(fallocate, (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
REFUSED(fallocate64, (int fd, int mode, off64_t offset, off64_t length), (fd, mode, offset, length))
REFUSED(posix_fallocate, (int fd, off_t offset, off_t length), (fd, offset, length))
REFUSED(posix_fallocate64, (int fd, off64_t offset, off64_t length), (fd, offset, length))

/* A sync covers what was written before it began, and only once it has ended. */
static int sync_with(int (*next)(int), int fd) {
  uint64_t inode = inode_of(fd), thread = syscall(SYS_gettid);
  LOCK;
  record(SYNCING, inode, thread, NULL, NULL, 0);
  UNLOCK;
  int failed = next(fd);
  if (failed) return failed;
  LOCK;
  record(SYNCED, inode, thread, NULL, NULL, 0);
  UNLOCK;
  return 0;
}

#define SYNC(name) \
  int name(int fd) { \
    NEXT(name); \
    return ours(fd) || is_folder(fd) ? sync_with(next, fd) : next(fd); \
  }
SYNC(fsync)
SYNC(fdatasync)

static int open_at(int folder_fd, const char *path, int flags, mode_t mode) {
  char whole[PATH_MAX];
  if (trace < 0) return syscall(SYS_openat, folder_fd, path, flags, mode);
  LOCK;
  int was_there = faccessat(folder_fd, path, F_OK, 0) == 0;
  int fd = syscall(SYS_openat, folder_fd, path, flags, mode);
  int before = errno;
  if (fd >= 0 && path_of(fd, whole) && is_ours(whole)) {
    record(was_there ? OPENED : CREATED, inode_of(fd), 0, whole, NULL, 0);
    if (was_there && (flags & O_TRUNC)) record(CUT, inode_of(fd), 0, NULL, NULL, 0);
  } else if (fd >= 0 && is_folder(fd)) record(OPENED, inode_of(fd), 0, folder, NULL, 0);
  errno = before;
  UNLOCK;
  return fd;
}

#define MODE \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  MODE return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int folder_fd, const char *path, int flags, ...) {
  MODE return open_at(folder_fd, path, flags, mode);
}

int openat64(int folder_fd, const char *path, int flags, ...) {
  MODE return open_at(folder_fd, path, flags | O_LARGEFILE, mode);
}
