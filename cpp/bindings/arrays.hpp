// Arrays between Python and the kernels: contiguous, of the exact type, never copied on the way
// in, handed over with their memory on the way out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "calibrant/buffer.hpp"
#include "calibrant/law.hpp"
#include "calibrant/rows.hpp"

namespace calibrant::bindings {

namespace nb = nanobind;

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<Input<double>>;
template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Output = Array<double>;
using OutputTable = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

template <class T>
Array<T> hand_over(Buffer<T> values, std::size_t count) {
    T* memory = values.release();
    const nb::capsule owner(memory, [](void* held) noexcept { Free{}(held); });
    return Array<T>(memory, {count}, owner);
}

inline OutputTable hand_over(Buffer<double> values, std::size_t rows, std::size_t columns) {
    double* memory = values.release();
    const nb::capsule owner(memory, [](void* held) noexcept { Free{}(held); });
    return OutputTable(memory, {rows, columns}, owner);
}

template <class T>
Array<T> hand_over(const std::vector<T>& values) {
    Buffer<T> copy = allocate<T>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    return hand_over(std::move(copy), values.size());
}

inline void same_length(std::size_t a, std::size_t b) {
    if (a != b) throw std::invalid_argument("arrays of different lengths");
}

template <class Outcome>
Rows<Outcome> rows_of(const Input<double>& prediction, const Input<Outcome>& outcome,
                      const Weights& weight) {
    same_length(prediction.size(), outcome.size());
    if (weight) same_length(prediction.size(), weight->size());
    return {prediction.data(), outcome.data(), weight ? weight->data() : nullptr,
            prediction.size()};
}

inline Law law_of(const Input<double>& prediction, const Input<double>& weight,
                  const Input<double>& positives) {
    same_length(prediction.size(), weight.size());
    same_length(prediction.size(), positives.size());
    if (prediction.size() == 0) throw std::invalid_argument("a law has at least one level");
    if (prediction.size() > max_rows) throw std::length_error(too_many_rows);
    return {prediction.data(), weight.data(), positives.data(), prediction.size()};
}

}  // namespace calibrant::bindings
