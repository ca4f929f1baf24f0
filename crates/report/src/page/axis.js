// The text of numbers, and the ticks of axes after zooming. These functions are copies of `decimal` in
// crates/model/src/digits.rs, of `significant` in number.rs and of `Range::ticks` in chart/axis.rs. Tests
// compare the results.
const decimal = (value, decimals) => {
  const [whole, rest = ""] = value.toFixed(decimals).split(".");
  const end = rest.replace(/0+$/, "");
  const grouped = whole.replace("-", "").length < 5 ? whole : whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return end ? `${grouped}.${end}` : grouped === "-0" ? "0" : grouped;
};
const significant = value => {
  if (value === null || !isFinite(value)) return "-";
  return value === 0 ? "0" : decimal(value, Math.min(9, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))))));
};
// About `wanted` ticks at round values of a log or a linear axis, each with its text.
const ticks = (log, [from, to], wanted) => {
  if (log && to / from > 8) {
    const within = steps => {
      const out = [];
      for (let power = Math.floor(Math.log10(from)); power <= Math.floor(Math.log10(to)); power++)
        for (const step of steps) out.push(step * 10 ** power);
      return out.filter(at => at >= from * (1 - 1e-9) && at <= to * (1 + 1e-9));
    };
    const tens = within([1]), every = within([1, 2, 5]);
    const most = Math.max(2, Math.floor(wanted * 2.5)), areMany = every.length > most && tens.length > 1;
    const values = to / from > 1e3 || areMany ? tens : every;
    const step = values.length > 5 ? Math.ceil(values.length / most) : 1;
    return values.filter((_, i) => i % step === 0).map(at => [at, significant(at)]);
  }
  const raw = (to - from) / Math.max(wanted, 1), power = Math.floor(Math.log10(raw));
  const times = [1, 2, 2.5, 5, 10].find(times => times * 10 ** power >= raw * 0.999);
  const step = times * 10 ** power, out = [];
  const decimals = Math.min(15, Math.max(0, -power + (times === 2.5 ? 1 : times === 10 ? -1 : 0)));
  for (let at = Math.ceil(from / step - 1e-9); at <= Math.floor(to / step + 1e-9); at++)
    out.push([at * step, decimal(at * step, decimals)]);
  return out;
};
