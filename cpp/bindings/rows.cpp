#include "calibrant/binomials.hpp"
#include "calibrant/bins.hpp"
#include "calibrant/levels.hpp"
#include "register.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

namespace calibrant::bindings {

using namespace nb::literals;

// prediction, weight, positives, rows, weight squares, bad rows, binary
using Sums = std::tuple<Output, Output, Output, std::optional<Output>, std::optional<Output>,
                        std::size_t, bool>;

template <class Outcome>
Sums levels(Input<double> prediction, Input<Outcome> outcome, Weights weight,
            std::size_t threads) {
    const Rows<Outcome> rows = rows_of(prediction, outcome, weight);
    Levels result;
    {
        const nb::gil_scoped_release unlocked;
        result = levels_of(rows, threads > 1);
    }
    const std::size_t count = result.count;
    std::optional<Output> row_counts;
    std::optional<Output> squares;
    if (weight) {
        row_counts = hand_over(std::move(result.rows), count);
        squares = hand_over(std::move(result.weight_squares), count);
    }
    return {hand_over(std::move(result.prediction), count),
            hand_over(std::move(result.weight), count),
            hand_over(std::move(result.positives), count),
            std::move(row_counts),
            std::move(squares),
            result.bad_rows,
            result.binary};
}

template <class Find, class Outcome>
Sums binned(Find find, const Rows<Outcome>& rows) {
    BinSums result;
    {
        const nb::gil_scoped_release unlocked;
        result = bin_sums(rows, find);
    }
    std::optional<Output> row_counts;
    std::optional<Output> squares;
    if (rows.weight != nullptr) {
        row_counts = hand_over(result.rows);
        squares = hand_over(result.weight_squares);
    }
    return {hand_over(result.prediction),
            hand_over(result.weight),
            hand_over(result.positives),
            std::move(row_counts),
            std::move(squares),
            result.bad_rows,
            result.binary};
}

template <class Outcome>
Sums bins(Input<double> prediction, Input<Outcome> outcome, Weights weight, Input<double> edges,
          bool closed_left) {
    if (edges.size() < 2) throw std::invalid_argument("bins need two edges");
    const Rows<Outcome> rows = rows_of(prediction, outcome, weight);
    const std::vector<double> ends = bin_ends(edges.data(), edges.size(), closed_left);
    if (UniformEdges::fit(edges.data(), edges.size())) return binned(UniformEdges(ends), rows);
    const std::vector<std::uint32_t> first = AnyEdges::first_bins(ends);
    return binned(AnyEdges(ends, first), rows);
}

template <class Outcome>
Sums cells(Input<double> prediction, Input<Outcome> outcome, Weights weight, std::size_t count) {
    if (count == 0 || count > max_cells) throw std::invalid_argument("one to 2^26 cells");
    return binned(Cells(count), rows_of(prediction, outcome, weight));
}

// charge of the nodes, bad rows, binary
template <class Outcome>
std::tuple<Output, std::size_t, bool> node_charges(Input<double> prediction,
                                                   Input<Outcome> outcome, Weights weight,
                                                   std::size_t count) {
    if (count == 0 || count > max_cells) throw std::invalid_argument("one to 2^26 cells");
    const Rows<Outcome> rows = rows_of(prediction, outcome, weight);
    NodeSums result;
    {
        const nb::gil_scoped_release unlocked;
        result = node_sums(rows, count);
    }
    return {hand_over(result.charge), result.bad_rows, result.binary};
}

// One row of uniform numbers for each distribution becomes one row for each draw.
OutputTable binomials(Table uniform, Input<std::int64_t> count, Input<double> chance) {
    const std::size_t size = count.size();
    same_length(size, chance.size());
    same_length(size, uniform.shape(0));
    const std::size_t draws = uniform.shape(1);
    // A table has some 18 entries for each standard deviation.
    constexpr double most_variance = 0x1p43;
    for (std::size_t i = 0; i < size; ++i) {
        const double p = chance.data()[i];
        if (count.data()[i] < 0 || !(p >= 0.0 && p <= 1.0) ||
            !(static_cast<double>(count.data()[i]) * p * (1.0 - p) <= most_variance))
            throw std::invalid_argument("counts must not be negative, chances in [0, 1], variances at most 2^43");
    }
    for (std::size_t i = 0; i < size * draws; ++i)
        if (!(uniform.data()[i] >= 0.0 && uniform.data()[i] < 1.0))
            throw std::invalid_argument("uniform numbers must be in [0, 1)");
    Buffer<double> drawn = allocate<double>(size * draws);
    {
        const nb::gil_scoped_release unlocked;
        draw_binomials(uniform.data(), count.data(), chance.data(), size, draws, drawn.get());
    }
    return hand_over(std::move(drawn), draws, size);
}

template <class Outcome>
void register_outcome(nb::module_& m) {
    m.def("levels", &levels<Outcome>, "prediction"_a.noconvert(), "outcome"_a.noconvert(),
          "weight"_a.noconvert().none(), "threads"_a.noconvert() = 1);
    m.def("bins", &bins<Outcome>, "prediction"_a.noconvert(), "outcome"_a.noconvert(),
          "weight"_a.noconvert().none(), "edges"_a.noconvert(), "closed_left"_a.noconvert());
    m.def("cells", &cells<Outcome>, "prediction"_a.noconvert(), "outcome"_a.noconvert(),
          "weight"_a.noconvert().none(), "count"_a.noconvert());
    m.def("node_charges", &node_charges<Outcome>, "prediction"_a.noconvert(),
          "outcome"_a.noconvert(), "weight"_a.noconvert().none(), "count"_a.noconvert());
}

void register_rows(nb::module_& m) {
    register_outcome<std::uint8_t>(m);
    register_outcome<std::int64_t>(m);
    register_outcome<double>(m);
    m.def("binomials", &binomials, "uniform"_a.noconvert(), "count"_a.noconvert(),
          "chance"_a.noconvert());
}

}  // namespace calibrant::bindings
