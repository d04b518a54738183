// For LD_PRELOAD: fsync and fdatasync take HOOKLINE_BENCH_SYNC_MS milliseconds longer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slowly(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char *ms = getenv("HOOKLINE_BENCH_SYNC_MS");
  if (ms != NULL) usleep((useconds_t)atoi(ms) * 1000);
  return real(fd);
}

int fsync(int fd) { return slowly("fsync", fd); }
int fdatasync(int fd) { return slowly("fdatasync", fd); }
