// Uninitialised storage. Large blocks ask for huge pages: at 10^7 rows page faults and
// translation misses otherwise cost as much as the arithmetic.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#elif defined(_WIN32)
#include <malloc.h>
#endif

namespace calibrant {

// Windows has no aligned_alloc, and keeps aligned memory apart from other memory.
inline void* aligned_memory(std::size_t alignment, std::size_t bytes) {
#if defined(_WIN32)
    void* memory = _aligned_malloc(bytes, alignment);
#else
    void* memory = std::aligned_alloc(alignment, bytes);
#endif
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

struct Free {
    void operator()(void* memory) const noexcept {
#if defined(_WIN32)
        _aligned_free(memory);
#else
        std::free(memory);
#endif
    }
};

template <class T>
using Buffer = std::unique_ptr<T[], Free>;

template <class T>
Buffer<T> allocate(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T) - huge_page)
        throw std::bad_alloc();
    const std::size_t alignment = count * sizeof(T) >= 2 * huge_page ? huge_page : 64;
    const std::size_t bytes = (count * sizeof(T) / alignment + 1) * alignment;
    void* memory = aligned_memory(alignment, bytes);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    // Only advice: where it is refused the memory works all the same.
    if (alignment == huge_page) (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return Buffer<T>(static_cast<T*>(memory));
}

}  // namespace calibrant
