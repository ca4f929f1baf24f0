//! Estimates a difference from repeats in the order of time. The order of the two servers determines contrasts, which
//! are weighted sums of the repeats. In one direction, the contrasts show the difference. In all other directions, they
//! show only noise. A linear drift has no effect on them, except in the model of two means. Only `measure` uses the
//! values of a figure.
//!
//! The contrasts are orthonormal. So if the noise of the repeats is independent and normal, the noise of the contrasts
//! is independent and normal too. This is not true if each repeat resembles the one before it (first-order
//! autocorrelation). For repeats in turn, the largest effect of such noise is computed, and the error is increased
//! accordingly. For the other models, the caller may state the correlation (`widened_for`).

use super::order::Order;

/// A design with fewer rounds estimates its noise from the distances of all repeats from a line over time. The few
/// differences within its rounds would not show enough of the noise.
const FEW_ROUNDS: usize = 6;
/// The correlations of neighbours that are tried, to find the worst effect on the error.
const ALIKE: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

type Vector = Vec<f64>;

/// The contrasts of a design.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    /// Orthonormal contrasts, one for each row: the weights of the repeats in the order of time.
    contrasts: Vec<Vector>,
    /// The direction in which a difference between the two runs appears: a unit vector in the space of the contrasts.
    direction: Vector,
    /// The length, along this direction, of a difference of 1 between the two runs.
    pub scale: f64,
    /// The factor by which the standard error is multiplied, because correlated repeats make it too small.
    pub widening: f64,
}

/// The contrasts of one figure, and the difference that follows from them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FigureContrasts {
    /// The values of the figure's contrasts.
    pub contrasts: Vector,
    /// The sum of the squares of the contrasts.
    pub squares: f64,
    /// The difference between contender and baseline, in the logarithm of the figure.
    pub difference: f64,
    /// The standard error of the difference.
    pub error: f64,
    /// The standard deviation of one repeat, in the logarithm of the figure.
    pub deviation: f64,
}

impl Model {
    /// The model for repeats that were measured in turn; `None` with too few rounds.
    pub fn in_turn(order: &Order) -> Option<Self> {
        if order.rounds.len() < FEW_ROUNDS {
            return Self::new(order, around_a_line(order, true)).map(Self::widened);
        }
        let candidates = [within_rounds(order), between_neighbours(order)];
        let models = candidates.into_iter().filter_map(|rows| Self::new(order, rows));
        // The contrasts with the narrower interval are used. Which contrasts these are depends only on the design, not
        // on the measured values.
        let best =
            models.map(Self::widened).max_by(|one, other| one.worth().total_cmp(&other.worth()));
        best.filter(|model| model.freedom() > 0)
    }

    /// The model for two means of independent repeats; `None` with fewer than three repeats in total.
    pub fn of_means(order: &Order) -> Option<Self> {
        Self::new(order, around_a_line(order, false))
    }

    /// The model for a step between the two runs in addition to a line over the time of both. `None` with too few
    /// repeats.
    pub fn of_a_step(order: &Order) -> Option<Self> {
        Self::new(order, around_a_line(order, true))
    }

    fn new(order: &Order, contrasts: Vec<Vector>) -> Option<Self> {
        let label = |is_contender: &bool| f64::from(u8::from(*is_contender));
        let labels: Vector = order.is_contender.iter().map(label).collect();
        let along: Vector = contrasts.iter().map(|row| dot(row, &labels)).collect();
        let scale = dot(&along, &along).sqrt();
        let is_seen = scale > 1e-9 && contrasts.len() > 1;
        is_seen.then(|| Self {
            direction: along.iter().map(|one| one / scale).collect(),
            contrasts,
            scale,
            widening: 1.0,
        })
    }

    /// The same model, with its error increased by the worst effect that correlated neighbours can have.
    fn widened(self) -> Self {
        let worst = ALIKE.iter().map(|&alike| self.understated(alike)).fold(1.0, f64::max);
        Self { widening: worst, ..self }
    }

    /// The same model, with its error increased by the effect of neighbours with this correlation.
    #[must_use]
    pub fn widened_for(self, alike: f64) -> Self {
        let widening = self.understated(alike).max(1.0);
        Self { widening, ..self }
    }

    /// The true error divided by the apparent one, if the noise of neighbours has the correlation `alike`.
    fn understated(&self, alike: f64) -> f64 {
        let n = self.contrasts[0].len();
        let effect: Vector = (0..n)
            .map(|at| self.contrasts.iter().zip(&self.direction).map(|(row, w)| row[at] * w).sum())
            .collect();
        let of_effect = variance(&effect, alike);
        let all: f64 = self.contrasts.iter().map(|row| variance(row, alike)).sum();
        let of_noise = (all - of_effect) / self.freedom() as f64;
        (of_effect / of_noise.max(1e-12)).sqrt()
    }

    /// The degrees of freedom of the noise.
    pub fn freedom(&self) -> usize {
        self.contrasts.len() - 1
    }

    /// The inverse of the half-width of the interval, in units of the noise.
    fn worth(&self) -> f64 {
        self.scale / self.widening / inferometer_model::stats::student_975(self.freedom())
    }

    /// Computes the contrasts of a figure from its logarithms, which must be in the order of time.
    pub fn measure(&self, logs: &[f64]) -> FigureContrasts {
        // The mean is subtracted first, so that equal values give exactly zero.
        let middle = logs.iter().sum::<f64>() / logs.len() as f64;
        let around: Vector = logs.iter().map(|log| log - middle).collect();
        let contrasts: Vector = self.contrasts.iter().map(|row| dot(row, &around)).collect();
        let squares = dot(&contrasts, &contrasts);
        let along = dot(&contrasts, &self.direction);
        let variance = (squares - along * along).max(0.0) / self.freedom() as f64;
        FigureContrasts {
            squares,
            difference: along / self.scale,
            error: self.widening * variance.sqrt() / self.scale,
            deviation: variance.sqrt(),
            contrasts,
        }
    }
}

/// The variance of a weighted sum over the repeats, for noise with variance one. The correlation of neighbours is
/// `alike`. The correlation of repeats two places apart is the square of `alike`, and so on.
fn variance(weights: &[f64], alike: f64) -> f64 {
    let (mut carried, mut sum) = (0.0, 0.0);
    for weight in weights {
        sum += weight * (weight + 2.0 * carried);
        carried = alike * (carried + weight);
    }
    sum
}

/// All contrasts that a constant does not affect. With `with_slope`, a line over time does not affect them either.
fn around_a_line(order: &Order, with_slope: bool) -> Vec<Vector> {
    let n = order.is_contender.len();
    let mut nuisance = vec![vec![1.0; n]];
    if with_slope {
        nuisance.push((0..n).map(|at| at as f64).collect());
    }
    complement(orthonormal(nuisance), n)
}

/// Contrasts of the contender's mean minus the baseline's mean in each round, without the effect of a line over time.
fn within_rounds(order: &Order) -> Vec<Vector> {
    let differences: Vec<Vector> = (0..order.rounds.len())
        .map(|round| {
            let [a, b] = sides(order, round);
            a.iter().zip(&b).map(|(a, b)| b - a).collect()
        })
        .collect();
    let rows = orthonormal(differences);
    let time: Vector = (0..order.is_contender.len()).map(|at| at as f64).collect();
    let slope = orthonormal(vec![rows.iter().map(|row| dot(row, &time)).collect()]);
    let kept = complement(slope, rows.len());
    kept.iter().map(|weights| sum(weights, &rows)).collect()
}

/// Contrasts of each round: the mean of one side, minus the mean of the other side at the same time. The mean of the
/// other side is interpolated between the rounds before and after. So a line over time has no effect, even if all
/// rounds have the same order.
fn between_neighbours(order: &Order) -> Vec<Vector> {
    let outer = usize::from(order.is_contender[0]);
    let time = |weights: &Vector| (0..).zip(weights).map(|(at, w)| f64::from(at) * w).sum::<f64>();
    let units: Vec<[(f64, Vector); 2]> = (0..order.rounds.len())
        .map(|round| sides(order, round).map(|weights| (time(&weights), weights)))
        .collect();
    let rows = units.iter().filter_map(|unit| {
        let (at, inner) = &unit[1 - outer];
        let others = || units.iter().map(|unit| &unit[outer]);
        let before = others().rev().find(|(when, _)| when < at)?;
        let after = others().find(|(when, _)| when > at)?;
        let share = (after.0 - at) / (after.0 - before.0);
        let mix = before.1.iter().zip(&after.1).map(|(b, a)| share * b + (1.0 - share) * a);
        Some(inner.iter().zip(mix).map(|(inner, mix)| inner - mix).collect())
    });
    orthonormal(rows.collect())
}

/// The means of both runs in a round, as weights over all repeats.
fn sides(order: &Order, round: usize) -> [Vector; 2] {
    let range = order.rounds[round].clone();
    [false, true].map(|side| {
        let is_of = |at: &usize| range.contains(at) && order.is_contender[*at] == side;
        let n = order.is_contender.len();
        let many = (0..n).filter(is_of).count() as f64;
        (0..n).map(|at| if is_of(&at) { 1.0 / many } else { 0.0 }).collect()
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn sum(weights: &[f64], rows: &[Vector]) -> Vector {
    let mut out = vec![0.0; rows.first().map_or(0, Vec::len)];
    for (weight, row) in weights.iter().zip(rows) {
        out.iter_mut().zip(row).for_each(|(out, one)| *out += weight * one);
    }
    out
}

/// Orthonormal rows with the same span, by the Gram-Schmidt process. It is applied twice because of rounding.
fn orthonormal(rows: Vec<Vector>) -> Vec<Vector> {
    let mut basis: Vec<Vector> = Vec::new();
    for mut row in rows {
        let before = dot(&row, &row);
        for known in basis.iter().chain(&basis) {
            let along = dot(known, &row);
            row.iter_mut().zip(known).for_each(|(one, known)| *one -= along * known);
        }
        let after = dot(&row, &row);
        if after > 1e-18 * before.max(1e-300) && after > 0.0 {
            basis.push(row.iter().map(|one| one / after.sqrt()).collect());
        }
    }
    basis
}

/// Orthonormal rows that span everything orthogonal to `known`, which must be orthonormal. Reflections map `known` to
/// the first unit vectors. The result is the images of the other unit vectors under the inverse reflections.
fn complement(known: Vec<Vector>, n: usize) -> Vec<Vector> {
    let mut rows: Vec<Vector> = Vec::with_capacity(n);
    let count = known.len();
    let mut mirrors: Vec<Vector> = Vec::new();
    for (place, mut row) in known.into_iter().enumerate() {
        mirrors.iter().for_each(|mirror| reflect(mirror, &mut row));
        let sign = if row[place] > 0.0 { 1.0 } else { -1.0 };
        row[place] += sign;
        let length = dot(&row, &row).sqrt();
        mirrors.push(row.iter().map(|one| one / length).collect());
    }
    for place in count..n {
        let mut row = vec![0.0; n];
        row[place] = 1.0;
        mirrors.iter().rev().for_each(|mirror| reflect(mirror, &mut row));
        rows.push(row);
    }
    rows
}

fn reflect(mirror: &[f64], row: &mut [f64]) {
    let twice = 2.0 * dot(mirror, row);
    row.iter_mut().zip(mirror).for_each(|(one, mirror)| *one -= twice * mirror);
}
