/* A disk that tells what is written to the database, and fails when it is told to: loaded before the C library. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long calls = 0;

static int is_database(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 9) return 0;
  path[length] = 0;
  return strcmp(path + length - 9, "/data.mdb") == 0;
}

/* Whether this call is the one that fails; counts all calls. */
static int fails(void) {
  const char *at = getenv("DISK_FAIL_AT");
  pthread_mutex_lock(&lock);
  long call = ++calls;
  pthread_mutex_unlock(&lock);
  if (at == NULL || call != atol(at)) return 0;
  const char *with = getenv("DISK_FAIL_WITH");
  errno = with != NULL && strcmp(with, "ENOSPC") == 0 ? ENOSPC : EIO;
  return 1;
}

/* kind: 1 a write that waits for a sync, 2 a sync, 3 a write that is on disk when it returns. */
static void note(char kind, uint64_t offset, const struct iovec *parts, int count, uint64_t length) {
  const char *journal = getenv("DISK_JOURNAL");
  if (journal == NULL) return;
  pthread_mutex_lock(&lock);
  FILE *file = fopen(journal, "ab");
  if (file != NULL) {
    fwrite(&kind, 1, 1, file);
    fwrite(&offset, 8, 1, file);
    fwrite(&length, 8, 1, file);
    for (int i = 0; i < count && length > 0; i++) {
      size_t some = parts[i].iov_len < length ? parts[i].iov_len : length;
      fwrite(parts[i].iov_base, 1, some, file);
      length -= some;
    }
    fclose(file);
  }
  pthread_mutex_unlock(&lock);
}

static char kind_of(int fd) { return (fcntl(fd, F_GETFL) & O_DSYNC) != 0 ? 3 : 1; }

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (real == NULL) real = dlsym(RTLD_NEXT, "pwrite64");
  if (!is_database(fd)) return real(fd, data, size, offset);
  if (fails()) return -1;
  ssize_t written = real(fd, data, size, offset);
  struct iovec part = {(void *)data, size};
  if (written > 0) note(kind_of(fd), offset, &part, 1, written);
  return written;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
  static ssize_t (*real)(int, const struct iovec *, int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "writev");
  if (!is_database(fd)) return real(fd, parts, count);
  if (fails()) return -1;
  off64_t offset = lseek64(fd, 0, SEEK_CUR);
  ssize_t written = real(fd, parts, count);
  if (written > 0) note(kind_of(fd), offset, parts, count, written);
  return written;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  static ssize_t (*real)(int, const struct iovec *, int, off64_t);
  if (real == NULL) real = dlsym(RTLD_NEXT, "pwritev64");
  if (!is_database(fd)) return real(fd, parts, count, offset);
  if (fails()) return -1;
  ssize_t written = real(fd, parts, count, offset);
  if (written > 0) note(kind_of(fd), offset, parts, count, written);
  return written;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return pwritev64(fd, parts, count, offset); }

int fdatasync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "fdatasync");
  if (!is_database(fd)) return real(fd);
  if (fails()) return -1;
  int result = real(fd);
  if (result == 0) note(2, 0, NULL, 0, 0);
  return result;
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "fsync");
  if (!is_database(fd)) return real(fd);
  if (fails()) return -1;
  int result = real(fd);
  if (result == 0) note(2, 0, NULL, 0, 0);
  return result;
}
