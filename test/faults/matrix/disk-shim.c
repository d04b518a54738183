// Makes the disk fail: system calls on the inbox's files go wrong as a switch file says, for a process that is started with LD_PRELOAD.
// The switch holds `<call> <what> <from> <times> <number>`: call sync or write; what eio, enospc, short, stall or kill; from which call on (1: the
// next), how often (0: always), and the milliseconds of a stall. Each fault is logged in `<switch>.log`. Without the file there are no faults.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[256];
static long calls;

typedef ssize_t (*pwrite_t)(int, const void *, size_t, off_t);
typedef ssize_t (*write_t)(int, const void *, size_t);
typedef int (*sync_t)(int);

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int is_inbox(int fd) {
  char link[64], path[512];
  const char *wanted = getenv("HOOKLINE_SHIM_FILE");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (wanted == NULL || size < 0) return 0;
  path[size] = 0;
  size_t length = strlen(wanted);
  if (strncmp(path, wanted, length) != 0) return 0;
  return path[length] == 0 || strcmp(path + length, "-wal") == 0;
}

static void note(const char *what) {
  char path[512];
  snprintf(path, sizeof path, "%s.log", getenv("HOOKLINE_SHIM"));
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) return;
  write_t put = (write_t)real("write");
  put(fd, what, strlen(what));
  put(fd, "\n", 1);
  close(fd);
}

// What is to happen to this call; an empty text where nothing is.
static void fault_of(const char *call, int fd, char *what, long *number) {
  what[0] = 0;
  const char *path = getenv("HOOKLINE_SHIM");
  if (path == NULL || !is_inbox(fd)) return;
  char text[256] = "", wanted[16] = "", found[16] = "";
  long from = 0, times = 0;
  int file = open(path, O_RDONLY);
  if (file >= 0) {
    ssize_t size = read(file, text, sizeof text - 1);
    text[size < 0 ? 0 : size] = 0;
    close(file);
  }
  pthread_mutex_lock(&lock);
  if (strcmp(text, last) != 0) {
    strcpy(last, text);
    calls = 0;
  }
  int fields = sscanf(text, "%15s %15s %ld %ld %ld", wanted, found, &from, &times, number);
  if (fields == 5 && strcmp(wanted, call) == 0) {
    calls += 1;
    if (calls >= from && (times == 0 || calls < from + times)) strcpy(what, found);
  }
  pthread_mutex_unlock(&lock);
  if (what[0] != 0) note(what);
}

static void stall(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
  note("over");
}

static int sync_with(const char *name, int fd) {
  char what[16];
  long number = 0;
  fault_of("sync", fd, what, &number);
  if (strcmp(what, "eio") == 0) return errno = EIO, -1;
  if (strcmp(what, "stall") == 0) stall(number);
  int result = ((sync_t)real(name))(fd);
  if (strcmp(what, "kill") == 0) kill(getpid(), SIGKILL);
  return result;
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }

// Gives how much of it is to be written, or -1 with errno.
static ssize_t room_for(int fd, size_t size) {
  char what[16];
  long number = 0;
  fault_of("write", fd, what, &number);
  if (strcmp(what, "eio") == 0) return errno = EIO, -1;
  if (strcmp(what, "enospc") == 0) return errno = ENOSPC, -1;
  if (strcmp(what, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(what, "short") == 0) return size / 2;
  return size;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  ssize_t room = room_for(fd, size);
  return room < 0 ? room : ((pwrite_t)real("pwrite"))(fd, bytes, room, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at) {
  ssize_t room = room_for(fd, size);
  return room < 0 ? room : ((pwrite_t)real("pwrite64"))(fd, bytes, room, at);
}

ssize_t write(int fd, const void *bytes, size_t size) {
  ssize_t room = room_for(fd, size);
  return room < 0 ? room : ((write_t)real("write"))(fd, bytes, room);
}
