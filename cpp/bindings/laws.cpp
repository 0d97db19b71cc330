#include "calibrant/bins.hpp"
#include "calibrant/cutoff.hpp"
#include "calibrant/intervals.hpp"
#include "calibrant/isotonic.hpp"
#include "calibrant/laplace.hpp"
#include "calibrant/logistic.hpp"
#include "calibrant/moments.hpp"
#include "calibrant/nodes.hpp"
#include "calibrant/partitions.hpp"
#include "calibrant/smooth.hpp"
#include "calibrant/two_bins.hpp"
#include "register.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace calibrant::bindings {

using namespace nb::literals;

double smooth_error(Input<double> prediction, Input<double> weight, Input<double> positives,
                    double lipschitz, std::size_t threads) {
    const Law law = law_of(prediction, weight, positives);
    const nb::gil_scoped_release unlocked;
    return calibrant::smooth_error(law, lipschitz, threads > 1);
}

Output smooth_witness(Input<double> prediction, Input<double> weight, Input<double> positives,
                      double lipschitz) {
    const Law law = law_of(prediction, weight, positives);
    Buffer<double> witness = allocate<double>(law.count);
    {
        const nb::gil_scoped_release unlocked;
        SmoothSolver solver;
        solver.solve(law, lipschitz);
        solver.witness(witness.get());
    }
    return hand_over(std::move(witness), law.count);
}

// Applies a functional of a law to many outcomes on the same levels, one row of `positives` each.
template <class Functional>
Output for_each_outcome(const Input<double>& prediction, const Input<double>& weight,
                        const Table& positives, Functional functional) {
    same_length(prediction.size(), positives.shape(1));
    same_length(prediction.size(), weight.size());
    if (prediction.size() == 0) throw std::invalid_argument("a law has at least one level");
    const std::size_t draws = positives.shape(0);
    Buffer<double> values = allocate<double>(draws);
    {
        const nb::gil_scoped_release unlocked;
        for (std::size_t b = 0; b < draws; ++b)
            values[b] = functional(Law{prediction.data(), weight.data(),
                                       positives.data() + b * prediction.size(),
                                       prediction.size()});
    }
    return hand_over(std::move(values), draws);
}

Output smooth_errors(Input<double> prediction, Input<double> weight, Table positives,
                     double lipschitz) {
    SmoothSolver solver;
    return for_each_outcome(prediction, weight, positives,
                            [&](const Law& law) { return solver.solve(law, lipschitz); });
}

double laplace_form(Input<double> prediction, Input<double> weight, Input<double> positives,
                    double bandwidth) {
    const Law law = law_of(prediction, weight, positives);
    const nb::gil_scoped_release unlocked;
    return calibrant::laplace_form(law, bandwidth);
}

Output laplace_forms(Input<double> prediction, Input<double> weight, Table positives,
                     double bandwidth) {
    return for_each_outcome(prediction, weight, positives, [=](const Law& law) {
        return calibrant::laplace_form(law, bandwidth);
    });
}

std::tuple<Output, Output> laplace_sides(Input<double> prediction, Input<double> weight,
                                         Input<double> positives, double bandwidth) {
    const Law law = law_of(prediction, weight, positives);
    Buffer<double> below = allocate<double>(law.count);
    Buffer<double> above = allocate<double>(law.count);
    {
        const nb::gil_scoped_release unlocked;
        calibrant::laplace_sides(law, bandwidth, below.get(), above.get());
    }
    return {hand_over(std::move(below), law.count), hand_over(std::move(above), law.count)};
}

double two_bin_error(Input<double> prediction, Input<double> weight, Input<double> positives,
                     bool squared) {
    const Law law = law_of(prediction, weight, positives);
    const nb::gil_scoped_release unlocked;
    return calibrant::two_bin_error(law, squared);
}

Output two_bin_errors(Input<double> prediction, Input<double> weight, Table positives,
                      bool squared) {
    return for_each_outcome(prediction, weight, positives, [=](const Law& law) {
        return calibrant::two_bin_error(law, squared);
    });
}

template <Basis basis>
Output moments(Input<double> prediction, Input<double> weight, Input<double> positives,
               std::size_t count) {
    if (count == 0 || count > max_cells) throw std::invalid_argument("one to 2^26 moments");
    const Law law = law_of(prediction, weight, positives);
    Buffer<double> result = allocate<double>(count);
    {
        const nb::gil_scoped_release unlocked;
        residual_moments(law, basis, count, result.get());
    }
    return hand_over(std::move(result), count);
}

// lowest at, highest at, lowest, highest, total
std::tuple<std::size_t, std::size_t, double, double, double> cumulative_residuals(
    Input<double> prediction, Input<double> weight, Input<double> positives) {
    const Law law = law_of(prediction, weight, positives);
    const nb::gil_scoped_release unlocked;
    const CumulativeRange range = cumulative_range(law);
    return {range.lowest_at, range.highest_at, range.lowest, range.highest, range.total};
}

// First levels of the cheapest runs of a bounded span; sums and ranks have one entry more.
Array<std::int64_t> cheapest_runs(Input<double> prediction, Input<double> sum,
                                  Input<std::int64_t> rank, double width) {
    same_length(prediction.size() + 1, sum.size());
    same_length(sum.size(), rank.size());
    if (sum.size() > max_rows) throw std::length_error(too_many_rows);
    if (!(width >= 0.0)) throw std::invalid_argument("a width is not negative");
    const auto on_board = [&](std::int64_t place) {
        return place >= 0 && static_cast<std::size_t>(place) < rank.size();
    };
    if (!std::all_of(rank.data(), rank.data() + rank.size(), on_board))
        throw std::invalid_argument("ranks count from 0 to the number of sums");
    std::vector<std::int64_t> starts;
    {
        const nb::gil_scoped_release unlocked;
        starts = calibrant::cheapest_runs(prediction.data(), sum.data(), rank.data(),
                                          prediction.size(), width);
    }
    return hand_over(starts);
}

// Number of the group of each point mass in the cheapest partition.
Array<std::int64_t> best_partition(Input<double> at, Input<double> mass, Input<double> ones,
                                   double tie) {
    same_length(at.size(), mass.size());
    same_length(at.size(), ones.size());
    if (at.size() > most_partitioned)
        throw std::length_error("at most 20 point masses can be partitioned");
    std::vector<std::int64_t> group;
    {
        const nb::gil_scoped_release unlocked;
        group = calibrant::best_partition({at.data(), mass.data(), ones.data(), at.size()}, tie);
    }
    return hand_over(group);
}

// First levels of the pools of isotonic regression; `sum` is weight times value.
Array<std::int64_t> isotonic_pools(Input<double> weight, Input<double> sum) {
    same_length(weight.size(), sum.size());
    if (weight.size() > max_rows) throw std::length_error(too_many_rows);
    std::vector<std::int64_t> first;
    {
        const nb::gil_scoped_release unlocked;
        IsotonicFit fit;
        for (const IsotonicFit::Pool& pool :
             fit.pools(weight.data(), weight.size(), [&](std::size_t i) { return sum.data()[i]; }))
            first.push_back(pool.first);
    }
    return hand_over(first);
}

// Gains of isotonic regression for many outcomes on the same levels, one row of `charge` each.
template <class Gain>
Output isotonic_gains(Input<double> prediction, Input<double> weight, Table charge) {
    IsotonicFit fit;
    return for_each_outcome(prediction, weight, charge, [&](const Law& law) {
        return isotonic_gain(fit.pools(law.weight, law.count,
                                       [&](std::size_t i) {
                                           return std::fma(law.weight[i], law.prediction[i],
                                                           law.positives[i]);
                                       }),
                             Gain());
    });
}

// Fitted values of isotonic regression, one row for each row of charges.
OutputTable isotonic_curves(Input<double> prediction, Input<double> weight, Table charge) {
    const std::size_t count = prediction.size();
    Buffer<double> curves = allocate<double>(charge.shape(0) * count);
    double* curve = curves.get();
    IsotonicFit fit;
    for_each_outcome(prediction, weight, charge, [&](const Law& law) {
        const auto& pools = fit.pools(law.weight, count, [&](std::size_t i) {
            return std::fma(law.weight[i], law.prediction[i], law.positives[i]);
        });
        for (std::size_t k = 0; k < pools.size(); ++k) {
            const std::size_t end = k + 1 < pools.size() ? pools[k + 1].first : count;
            std::fill(curve + pools[k].first, curve + end, pools[k].mean);
        }
        curve += count;
        return 0.0;
    });
    return hand_over(std::move(curves), charge.shape(0), count);
}

// Charge of the nodes 0 .. nodes.
Output share_out(Input<double> mass, Input<double> place, std::size_t nodes) {
    same_length(mass.size(), place.size());
    if (nodes == 0 || nodes > max_cells)
        throw std::invalid_argument("one to 2^26 steps between nodes");
    Buffer<double> charge = allocate<double>(nodes + 1);
    std::fill_n(charge.get(), nodes + 1, 0.0);
    {
        const nb::gil_scoped_release unlocked;
        calibrant::share_out(mass.data(), place.data(), mass.size(), nodes, charge.get());
    }
    return hand_over(std::move(charge), nodes + 1);
}

// Slope and curvature, one row after the other; None is the constant term.
std::tuple<Output, Output> logistic_moments(Input<double> weight, Input<double> ones,
                                            Input<double> score,
                                            const std::vector<Weights>& terms) {
    constexpr std::size_t most = LogisticMoments::most_terms;
    const std::size_t size = terms.size();
    if (size == 0 || size > most) throw std::invalid_argument("one to three terms");
    same_length(weight.size(), ones.size());
    same_length(weight.size(), score.size());
    LogisticMoments::Terms term{};
    for (std::size_t k = 0; k < size; ++k) {
        if (!terms[k]) continue;
        same_length(weight.size(), terms[k]->size());
        term[k] = terms[k]->data();
    }
    LogisticMoments found;
    {
        const nb::gil_scoped_release unlocked;
        found = calibrant::logistic_moments(weight.data(), ones.data(), score.data(),
                                            weight.size(), term, size);
    }
    std::vector<double> curvature;
    for (std::size_t k = 0; k < size; ++k)
        curvature.insert(curvature.end(), found.curvature[k].begin(),
                         found.curvature[k].begin() + static_cast<std::ptrdiff_t>(size));
    const std::vector<double> slope(found.slope.begin(),
                                    found.slope.begin() + static_cast<std::ptrdiff_t>(size));
    return {hand_over(slope), hand_over(curvature)};
}

void register_laws(nb::module_& m) {
    m.def("smooth_error", &smooth_error, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "lipschitz"_a.noconvert(), "threads"_a.noconvert() = 1);
    m.def("smooth_witness", &smooth_witness, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "lipschitz"_a.noconvert());
    m.def("smooth_errors", &smooth_errors, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "lipschitz"_a.noconvert());
    m.def("laplace_form", &laplace_form, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "bandwidth"_a.noconvert());
    m.def("laplace_forms", &laplace_forms, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "bandwidth"_a.noconvert());
    m.def("laplace_sides", &laplace_sides, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "bandwidth"_a.noconvert());
    m.def("two_bin_error", &two_bin_error, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "squared"_a.noconvert());
    m.def("two_bin_errors", &two_bin_errors, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "squared"_a.noconvert());
    m.def("chebyshev_moments", &moments<Basis::chebyshev>, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "positives"_a.noconvert(), "count"_a.noconvert());
    m.def("power_moments", &moments<Basis::powers>, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "positives"_a.noconvert(), "count"_a.noconvert());
    m.def("cheapest_runs", &cheapest_runs, "prediction"_a.noconvert(), "sum"_a.noconvert(),
          "rank"_a.noconvert(), "width"_a.noconvert());
    m.def("best_partition", &best_partition, "at"_a.noconvert(), "mass"_a.noconvert(),
          "ones"_a.noconvert(), "tie"_a.noconvert());
    m.def("isotonic_pools", &isotonic_pools, "weight"_a.noconvert(), "sum"_a.noconvert());
    m.def("isotonic_log_gains", &isotonic_gains<LogGain>, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "charge"_a.noconvert());
    m.def("isotonic_square_gains", &isotonic_gains<SquareGain>, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "charge"_a.noconvert());
    m.def("isotonic_curves", &isotonic_curves, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "charge"_a.noconvert());
    m.def("share_out", &share_out, "mass"_a.noconvert(), "place"_a.noconvert(),
          "nodes"_a.noconvert());
    m.def("logistic_moments", &logistic_moments, "weight"_a.noconvert(), "ones"_a.noconvert(),
          "score"_a.noconvert(), "terms"_a);
    m.def("cumulative_residuals", &cumulative_residuals, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "positives"_a.noconvert());
}

}  // namespace calibrant::bindings
