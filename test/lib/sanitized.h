/* TEST_SANITIZED is defined with a sanitizer that replaces the allocator and needs more memory. GCC and Clang
 * report it differently. */
#ifndef VIEWFOLD_TEST_SANITIZED_H
#define VIEWFOLD_TEST_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif

#endif
