// Two works at once, or one after the other: what they find must not depend on it.
#pragma once

#include <future>
#include <system_error>

namespace calibrant {

template <class First, class Second>
void at_once(bool two_threads, First first, Second second) {
    std::future<void> other;
    if (two_threads) {
        try {
            other = std::async(std::launch::async, second);
        } catch (const std::system_error&) {  // no thread is to be had
            two_threads = false;
        }
    }
    first();
    if (two_threads) other.get();
    else second();
}

}  // namespace calibrant
