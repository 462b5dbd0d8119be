"use strict";

/* The interactive page: costs and prices are moved, and the decision is computed again from the
   run's own draws by the rule of decision/economics.py. Nothing is fetched and nothing is sent.
   Text from the run is only ever put in as text. */

(() => {
  const content = JSON.parse(document.getElementById("data").textContent);
  const { words, run, options, answers } = content;
  const OPTIONS = options.length;
  const NOTHING = 0;
  const ROUNDING = 1e-12;
  const POINTS = 33;
  const SLIDER_STEPS = 1000;
  const CHART_DELAY_MS = 60;
  const DASHES = ["", "7 3", "2 3", "9 3 2 3", "5 2", "1 3", "12 3", "7 2 2 2 2 2", "4 4", "10 4"];
  const byId = (id) => document.getElementById(id);

  const say = (key, fields = {}) => words[key].replace(/\{(\w+)\}/g, (_, name) => fields[name]);

  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function draw(tag, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  /* Numbers: no more digits than the simulation error supports, as in reports/numbers.py. */

  const decade = (error) => 10 ** Math.floor(Math.log10(error));

  function rounded(value, step) {
    const places = Math.max(0, -Math.round(Math.log10(step)));
    const nearest = Math.round(value / step) * step;
    const [whole, part] = Math.abs(nearest).toFixed(places).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return (nearest < 0 ? "\u2212" : "") + grouped + (part ? `.${part}` : "");
  }

  function stepOf(value, error) {
    const count = Math.abs(value) >= 10 || value === 0 ? 1 : 0.1;
    return error > 0 ? Math.max(count, decade(error)) : count;
  }

  const amount = (value, error = 0) => rounded(value, stepOf(value, error));

  function amountWithError(value, error) {
    const step = stepOf(value, error);
    return error > 0 ? `${amount(value, error)}\u00a0±\u00a0${rounded(Math.max(error, step), step)}`
      : amount(value, error);
  }

  function share(value, effective) {
    const error = Math.sqrt(Math.max(0, value * (1 - value)) / effective);
    const step = error > 0 ? Math.max(1e-3, decade(error)) : 1e-3;
    for (const [near, sign, end] of [[value, "<", 0], [1 - value, ">", 1]]) {
      if (near < step / 2) {
        const bound = Math.min(1, Math.max(3 / effective, near + 2 * error));
        const width = Math.max(decade(bound), 1e-3);
        const wide = Math.ceil(bound / width - 1e-9) * width;
        return `${sign}\u00a0${rounded(100 * Math.abs(end - wide), 100 * width)}%`;
      }
    }
    return `${rounded(100 * value, 100 * step)}%`;
  }

  /** A share inside a sentence. */
  const spelt = (value, effective) => share(value, effective)
    .replace("<\u00a0", words.less_than).replace(">\u00a0", words.more_than);

  const digits = (value) => String(Number(value.toPrecision(7)));
  const brief = (value) => {
    const near = Number(value.toPrecision(3));
    return Number.isInteger(near) ? rounded(near, 1) : String(near);
  };
  const exact = (value) => String(Number(value.toPrecision(15)));

  /* Draws: utilities at the pivots of each option, break-evens, shapes of uncertain costs. */

  async function unpack(answer) {
    const binary = atob(answer.data);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const buffer = await new Response(plain).arrayBuffer();
    const kinds = { float64: Float64Array, uint32: Uint32Array };
    const arrays = {};
    let offset = 0;
    for (const [name, [kind, length]] of Object.entries(answer.arrays)) {
      arrays[name] = new kinds[kind](buffer, offset, length);
      offset += arrays[name].byteLength;
    }
    return modelOf(answer, arrays, columnsOf(answer, new Uint8Array(buffer, offset)));
  }

  function columnsOf(answer, planes) {
    const count = answer.draws;
    let start = 0;
    return answer.widths.map((width, j) => {
      const column = new Float64Array(count).fill(answer.lowest[j]);
      for (let plane = 0, unit = 1; plane < width; plane += 1, unit *= 256, start += count) {
        for (let i = 0; i < count; i += 1) column[i] += unit * planes[start + i];
      }
      return column;
    });
  }

  function modelOf(answer, arrays, columns) {
    const { draws, nodes, pivots, mean, step, uncertain } = answer;
    const total = mean.length;
    const directions = columns.length - uncertain.length;
    const model = {
      draws,
      nodes: Float64Array.from(nodes),
      reach: answer.reach,
      tie: 2 * answer.error,
      effective: answer.effective,
      rows: arrays.rows,
      all: Uint32Array.from({ length: draws }, (_, i) => i),
      weights: [],
      values: pivots.map((size) => new Float64Array(draws * size)),
      pivots,
      shapes: new Array(OPTIONS).fill(null),
    };
    /* W_k is kept node by node, so that a chord reads two neighbouring stretches. */
    let start = 0;
    for (const size of pivots) {
      const turned = new Float64Array(nodes.length * size);
      for (let r = 0; r < size; r += 1) {
        for (let p = 0; p < nodes.length; p += 1) {
          turned[p * size + r] = arrays.weights[start + r * nodes.length + p];
        }
      }
      model.weights.push(turned);
      start += size * nodes.length;
    }
    const row = new Float64Array(total);
    for (let i = 0; i < draws; i += 1) {
      row.set(mean);
      for (let j = 0; j < directions; j += 1) {
        const coordinate = columns[j][i] * step;
        const from = j * total;
        for (let s = 0; s < total; s += 1) row[s] += coordinate * arrays.directions[from + s];
      }
      let first = 0;
      for (let k = 0; k < OPTIONS; k += 1) {
        const size = pivots[k];
        for (let r = 0; r < size; r += 1) model.values[k][i * size + r] = row[first + r];
        first += size;
      }
    }
    uncertain.forEach((k, j) => {
      model.shapes[k] = columns[directions + j].map((value) => value * answer.shape_step);
    });
    model.sea = breakEvens(model, arrays);
    return model;
  }

  /** Node at or below a number of accelerators added, and the share of the way to the next. */
  function chord(nodes, added) {
    let low = 0;
    let high = nodes.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (nodes[middle] <= added) low = middle;
      else high = middle;
    }
    return [low, (added - nodes[low]) / (nodes[low + 1] - nodes[low])];
  }

  /** Weights of an option's pivots at accelerators added. */
  function weightsAt(model, k, added) {
    const size = model.pivots[k];
    const [low, part] = chord(model.nodes, added);
    const table = model.weights[k];
    return Float64Array.from({ length: size }, (_, r) => {
      const below = table[low * size + r];
      return below + part * (table[(low + 1) * size + r] - below);
    });
  }

  /** Utilities of an option on some draws at one number of accelerators added. */
  function valuesAt(model, k, added, rows) {
    const weights = weightsAt(model, k, added);
    const size = model.pivots[k];
    const values = model.values[k];
    const result = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i += 1) {
      const from = rows[i] * size;
      let sum = 0;
      for (let r = 0; r < size; r += 1) sum += values[from + r] * weights[r];
      result[i] = sum;
    }
    return result;
  }

  /** Utilities of an option at its cost, the rest of the budget buying accelerators. */
  function utilities(model, k, cost, budget, rows) {
    const shape = model.shapes[k];
    if (!shape || cost === 0) return valuesAt(model, k, budget - cost, rows);
    const { nodes } = model;
    const size = model.pivots[k];
    const values = model.values[k];
    const table = model.weights[k];
    const result = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i += 1) {
      const added = Math.max(nodes[0], budget - cost * shape[rows[i]]);
      const [low, part] = chord(nodes, added);
      const from = rows[i] * size;
      let below = 0;
      let above = 0;
      for (let r = 0; r < size; r += 1) {
        below += values[from + r] * table[low * size + r];
        above += values[from + r] * table[(low + 1) * size + r];
      }
      result[i] = below + part * (above - below);
    }
    return result;
  }

  /** Break-even of each option and draw: where accelerators first give what it gives. */
  function breakEvens(model, arrays) {
    const { nodes, draws, all, tie } = model;
    const bought = Array.from(nodes).filter((x) => x >= 0);
    const curves = bought.map((x) => valuesAt(model, NOTHING, x, all));
    const sea = [];
    for (let k = 0; k < OPTIONS; k += 1) {
      const found = new Float64Array(draws);
      const target = valuesAt(model, k, 0, all);
      for (let i = 0; i < draws; i += 1) {
        if (k === NOTHING || target[i] <= curves[0][i] + tie) continue;
        let m = 1;
        while (m < bought.length && curves[m][i] < target[i]) m += 1;
        found[i] = m === bought.length ? Infinity
          : bought[m - 1] + (target[i] - curves[m - 1][i]) / (curves[m][i] - curves[m - 1][i])
            * (bought[m] - bought[m - 1]);
      }
      sea.push(found);
    }
    arrays.missed_at.forEach((at, j) => {
      sea[at % OPTIONS][Math.floor(at / OPTIONS)] = arrays.missed_sea[j];
    });
    return sea;
  }

  /* The decision. */

  const feasible = (cost, budget) => cost <= budget * (1 + 1e-12);

  /** Utilities of the options that the budget pays, and what compares them in each draw. */
  function compare(model, costs, budget, rows) {
    const paid = [];
    for (let k = 0; k < OPTIONS; k += 1) if (feasible(costs[k], budget)) paid.push(k);
    const values = paid.map((k) => utilities(model, k, costs[k], budget, rows));
    const count = rows.length;
    const best = new Float64Array(OPTIONS);
    const loss = new Float64Array(OPTIONS);
    const highest = new Float64Array(count).fill(-Infinity);
    for (const own of values) {
      for (let i = 0; i < count; i += 1) if (own[i] > highest[i]) highest[i] = own[i];
    }
    const level = highest.map((top) => top - Math.max(model.tie, ROUNDING * Math.abs(top)));
    const ties = new Uint8Array(count);
    for (const own of values) {
      for (let i = 0; i < count; i += 1) if (own[i] >= level[i]) ties[i] += 1;
    }
    loss.fill(NaN);
    paid.forEach((k, j) => {
      const own = values[j];
      let lost = 0;
      let first = 0;
      for (let i = 0; i < count; i += 1) {
        lost += highest[i] - own[i];
        if (own[i] >= level[i]) first += 1 / ties[i];
      }
      loss[k] = lost / count;
      best[k] = first / count;
    });
    return { paid, values, best, loss, highest };
  }

  function meanOf(values) {
    let sum = 0;
    for (let i = 0; i < values.length; i += 1) sum += values[i];
    return sum / values.length;
  }

  /** Mean of a difference and its standard error. */
  function difference(first, second, effective) {
    const count = first.length;
    let sum = 0;
    let square = 0;
    for (let i = 0; i < count; i += 1) sum += first[i] - second[i];
    const mean = sum / count;
    for (let i = 0; i < count; i += 1) {
      const apart = first[i] - second[i] - mean;
      square += apart * apart;
    }
    return [mean, Math.sqrt(square / count / effective)];
  }

  function certaintyEquivalent(values, tolerance) {
    const lowest = values.reduce((low, value) => Math.min(low, value), Infinity);
    const discount = values.reduce((sum, value) => sum + Math.exp(-(value - lowest) / tolerance), 0);
    return lowest - tolerance * Math.log(discount / values.length);
  }

  /** Options best first, the first listed among those that cannot be told apart. */
  function orderOf(paid, merit, tie) {
    const left = paid.map((_, j) => j);
    const order = [];
    while (left.length) {
      const top = Math.max(...left.map((j) => merit[j]));
      const first = left.findIndex((j) => merit[j] >= top - tie);
      order.push(left.splice(first, 1)[0]);
    }
    return order;
  }

  function quantile(values, probability) {
    const sorted = Float64Array.from(values).sort();
    const at = Math.ceil(probability * sorted.length - 1e-9) - 1;
    return sorted[Math.max(0, at)];
  }

  function appraise(model, costs, budget) {
    const { effective, all } = model;
    const found = compare(model, costs, budget, all);
    const { paid, values, best, loss, highest } = found;
    const means = values.map(meanOf);
    const merit = content.risk_tolerance === null ? means
      : values.map((own) => certaintyEquivalent(own, content.risk_tolerance));
    const order = orderOf(paid, merit, model.tie);
    const place = new Array(OPTIONS).fill(null);
    order.forEach((j, rank) => { place[paid[j]] = rank + 1; });
    const net = new Array(OPTIONS).fill(null);
    const lost = new Array(OPTIONS).fill(null);
    paid.forEach((k, j) => {
      net[k] = difference(values[j], values[0], effective);
      lost[k] = difference(highest, values[j], effective);
    });
    const pays = costs.map((cost, k) => {
      const shape = model.shapes[k];
      const sea = model.sea[k];
      let count = 0;
      for (let i = 0; i < sea.length; i += 1) {
        if ((shape ? cost * shape[i] : cost) < sea[i]) count += 1;
      }
      return count / sea.length;
    });
    const [first, second] = order;
    const forgone = highest.map((top, i) => top - values[first][i]);
    return {
      choice: paid[first],
      rival: second === undefined ? null : paid[second],
      lead: second === undefined ? null : difference(values[first], values[second], effective),
      leadMerit: second === undefined ? null : merit[first] - merit[second],
      worst: quantile(forgone, 0.9),
      evpi: Math.min(...paid.map((k) => loss[k])),
      place, net, lost, best, loss, pays, costs, budget,
    };
  }

  /* Prices run from a fraction to a multiple of the run's, evenly in their logarithm. */
  const SPAN = Math.log2(content.span);
  const priceAt = (point) => 2 ** (SPAN * ((2 * point) / (POINTS - 1) - 1));
  const shareOfWay = (price) => (Math.log2(price) / SPAN + 1) / 2;

  /** P(best) and expected loss over the price of an accelerator. */
  function curves(model, state) {
    return Array.from({ length: POINTS }, (_, point) => {
      const price = priceAt(point);
      const { costs, budget } = inAccelerators(state, price);
      if (Math.max(budget, ...costs) > model.reach) return { price, best: null, loss: null };
      const { best, loss } = compare(model, costs, budget, model.rows);
      return { price, best, loss };
    });
  }

  /* What is set. Costs are in accelerators at the run's price, the price relative to it. */

  const unit = content.price_over_horizon ?? 1;
  const ownCosts = answers[0].costs;
  const models = new Map();
  let state = initial();
  let written = null;

  function initial() {
    return { regime: 0, price: 1, budget: content.budget, costs: [...ownCosts] };
  }

  function inAccelerators({ costs, budget }, price) {
    const paid = costs.map((cost) => cost / price);
    return { costs: paid, budget: budget ?? Math.max(...paid) };
  }

  function toFragment() {
    const found = new URLSearchParams();
    if (state.regime) found.set("regime", answers[state.regime].regime);
    if (state.price !== 1) found.set("price", exact(state.price));
    if (state.budget !== content.budget) {
      found.set("budget", state.budget === null ? "largest" : exact(state.budget));
    }
    options.forEach(({ key }, k) => {
      if (state.costs[k] !== ownCosts[k]) found.set(`cost.${key}`, exact(state.costs[k] * unit));
    });
    const text = found.toString();
    if (text === location.hash.slice(1)) return;
    written = text;
    try {
      history.replaceState(null, "", `#${text}`);
    } catch {
      location.replace(`#${text}`);
    }
  }

  const inSpan = (price) => Math.abs(Math.log2(price)) <= SPAN + 1e-9;

  function fromFragment() {
    const chosen = initial();
    const unknown = [];
    for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
      const value = Number(text);
      const valid = text.trim() !== "" && Number.isFinite(value) && value >= 0;
      const option = options.findIndex(({ key }) => name === `cost.${key}`);
      const regime = answers.findIndex((answer) => answer.regime === text);
      if (name === "regime" && regime >= 0) chosen.regime = regime;
      else if (name === "price" && valid && inSpan(value)) chosen.price = value;
      else if (name === "budget" && text === "largest") chosen.budget = null;
      else if (name === "budget" && valid) chosen.budget = value;
      else if (option > NOTHING && valid) chosen.costs[option] = value / unit;
      else unknown.push(`${name}=${text}`);
    }
    byId("problem").textContent = unknown.length ? say("ignored", { names: unknown.join(", ") }) : "";
    state = chosen;
  }

  /* What is shown. */

  const rows = [];
  const charts = [];
  let shownOrder = null;

  const named = (k) => (k === NOTHING ? words.do_nothing : options[k].name);

  function nameElement(k) {
    const label = make("bdi", {}, options[k].short);
    if (options[k].short !== options[k].name) label.title = options[k].name;
    return make("span", { className: "name" },
      make("span", { className: "swatch", "aria-hidden": "true" }), label);
  }

  function colour(element, k) {
    element.classList.add("option");
    element.style.setProperty("--light", options[k].light);
    element.style.setProperty("--dark", options[k].dark);
    return element;
  }

  function buildTable() {
    for (const key of ["option", "cost", "pays", "net", "best", "loss", "place"]) {
      const plain = key === "option" || key === "cost";
      byId("heads").append(make("th", {
        scope: "col", role: "columnheader", className: plain ? "" : "number",
      }, words[`head_${key}`]));
    }
    options.forEach((option, k) => {
      const row = { cells: {} };
      const head = make("th", { scope: "row", role: "rowheader" }, nameElement(k));
      if (option.description) {
        head.append(make("bdi", { className: "description" }, option.description));
      }
      row.element = colour(make("tr", { role: "row" }, head), k);
      row.element.dataset.option = option.key;
      const cost = make("td", { className: "cost", role: "cell" });
      if (k === NOTHING) cost.append(words.none);
      else {
        const what = { option: option.short, unit: content.currency || words.unit_accelerators };
        row.slider = make("input", {
          type: "range", min: "0", max: String(SLIDER_STEPS), step: "1",
          "aria-label": say("slider_of", what),
        });
        row.input = make("input", {
          type: "number", min: "0", step: "any", inputMode: "decimal",
          "aria-label": say("cost_of", what),
        });
        row.equals = make("span", { className: "small" });
        cost.append(make("div", { className: "pair" }, row.slider, row.input), row.equals);
        row.slider.addEventListener("input", () => {
          state.costs[k] = (answers[state.regime].reach * Number(row.slider.value)) / SLIDER_STEPS;
          refresh(row.slider);
        });
        bindNumber(row.input, (value) => { state.costs[k] = value / unit; },
          say("not_a_number", { field: option.short }));
      }
      row.element.append(cost);
      for (const key of ["pays", "net", "best", "loss", "place"]) {
        const figure = make("span", { className: "figure" });
        const cell = make("td", { className: "number", role: "cell" },
          make("span", { className: "label", "aria-hidden": "true" }, words[`head_${key}`]), figure);
        row.cells[key] = figure;
        if (key === "best") {
          row.bar = make("span");
          cell.append(make("span", { className: "bar", "aria-hidden": "true" }, row.bar));
        }
        row.element.append(cell);
      }
      rows.push(row);
    });
  }

  function bindNumber(input, set, wrong, allowed = (value) => value >= 0) {
    input.addEventListener("input", () => {
      const value = input.valueAsNumber;
      const valid = Number.isFinite(value) && allowed(value);
      input.setAttribute("aria-invalid", String(!valid));
      byId("problem").textContent = valid ? "" : wrong;
      if (!valid) return;
      set(value);
      refresh(input);
    });
    input.addEventListener("change", () => {
      if (input.getAttribute("aria-invalid") === "true") refresh();
    });
  }

  function bindControls() {
    answers.forEach(({ regime }, index) => {
      byId("regime").append(make("option", { value: String(index) }, regime || words.as_described));
    });
    byId("regime-control").hidden = answers.length < 2;
    byId("regime").addEventListener("change", async () => {
      state.regime = Number(byId("regime").value);
      await load();
      refresh();
    });
    const perPrice = content.price ?? 1;
    byId("price-label").textContent = content.currency
      ? say("price_currency", content) : words.price_relative;
    byId("price-slider").setAttribute("aria-label", words.price_slider);
    byId("budget-slider").setAttribute("aria-label", words.budget_slider);
    byId("price-slider").addEventListener("input", () => {
      state.price = 2 ** Number(byId("price-slider").value);
      refresh(byId("price-slider"));
    });
    byId("price-slider").min = String(-SPAN);
    byId("price-slider").max = String(SPAN);
    bindNumber(byId("price"), (value) => { state.price = value / perPrice; },
      say("not_a_price", {
        field: byId("price-label").textContent,
        low: brief(perPrice / content.span), high: brief(perPrice * content.span),
      }), (value) => inSpan(value / perPrice));
    byId("budget-slider").addEventListener("input", () => {
      state.budget = Number(byId("budget-slider").value);
      refresh(byId("budget-slider"));
    });
    bindNumber(byId("budget"), (value) => { state.budget = value; },
      say("not_a_number", { field: document.querySelector("label[for=budget]").textContent }));
    byId("largest").addEventListener("change", () => {
      const { budget } = inAccelerators(state, state.price);
      state.budget = byId("largest").checked ? null : Number(digits(budget));
      refresh();
    });
    byId("reset").addEventListener("click", async () => {
      state = initial();
      shownOrder = null;
      byId("problem").textContent = "";
      await load();
      refresh();
    });
    byId("sort").addEventListener("click", () => {
      shownOrder = null;
      refresh();
    });
    byId("intro").textContent = say(content.currency ? "intro_currency" : "intro_accelerators", {
      currency: content.currency, days: amount(answers[0].horizon_days),
    });
  }

  const model = () => models.get(state.regime);

  async function load() {
    if (!models.has(state.regime)) models.set(state.regime, await unpack(answers[state.regime]));
  }

  /** Everything after a change; the control that made it keeps what its user sees in it. */
  function refresh(origin) {
    const answer = answers[state.regime];
    const { costs, budget } = inAccelerators(state, state.price);
    const beyond = costs.findIndex((cost) => cost > model().reach);
    const outside = beyond >= 0 || budget > model().reach;
    const result = outside ? null : appraise(model(), costs, budget);
    showControls(origin, answer, costs, budget);
    showTable(result);
    showDecision(result, answer);
    if (outside) {
      const field = beyond >= 0 ? options[beyond].short : words.budget_slider;
      byId("problem").textContent = say("beyond", { field, reach: amount(model().reach) });
      byId("problem").dataset.beyond = "true";
    } else if (byId("problem").dataset.beyond) {
      byId("problem").textContent = "";
      delete byId("problem").dataset.beyond;
    }
    toFragment();
    later();
  }

  let pending = 0;

  /** Curves are drawn once the hand rests, so that a slider never waits for them. */
  function later() {
    clearTimeout(pending);
    pending = setTimeout(showCharts, CHART_DELAY_MS);
  }

  /** A button without effect keeps the focus that a keyboard has on it. */
  const idle = (button, without) => button.setAttribute("aria-disabled", String(without));

  const put = (element, value, origin) => { if (element !== origin) element.value = value; };

  function showControls(origin, answer, costs, budget) {
    byId("regime").value = String(state.regime);
    put(byId("price-slider"), String(Math.log2(state.price)), origin);
    put(byId("price"), digits(state.price * (content.price ?? 1)), origin);
    byId("price-slider").setAttribute("aria-valuetext", priceText(state.price));
    byId("budget-slider").max = digits(answer.reach);
    byId("budget-slider").step = digits(answer.reach / SLIDER_STEPS);
    put(byId("budget-slider"), digits(budget), origin);
    put(byId("budget"), digits(budget), origin);
    byId("largest").checked = state.budget === null;
    rows.forEach((row, k) => {
      if (k === NOTHING) return;
      put(row.slider, String((state.costs[k] / answer.reach) * SLIDER_STEPS), origin);
      put(row.input, digits(state.costs[k] * unit), origin);
      const own = say("equals", { amount: amount(costs[k]) });
      row.slider.setAttribute("aria-valuetext",
        content.currency ? `${digits(state.costs[k] * unit)} ${content.currency} ${own}` : own);
      const parts = [];
      if (content.currency || state.price !== 1) parts.push(own);
      if (model().shapes[k]) parts.push(words.uncertain);
      row.equals.textContent = parts.join(" · ");
    });
    const untouched = toText(state) === toText(initial());
    idle(byId("reset"), untouched);
  }

  const toText = ({ regime, price, budget, costs }) => JSON.stringify([regime, price, budget, costs]);

  function priceText(price) {
    return content.currency
      ? say("reading_currency", { price: digits(price * content.price), currency: content.currency })
      : say("reading_relative", { price: digits(price) });
  }

  function show(element, text, value) {
    element.textContent = text;
    if (value === null) {
      delete element.dataset.value;
      element.title = "";
    } else {
      element.dataset.value = String(value);
      element.title = String(value);
    }
  }

  function showTable(result) {
    const { effective } = model();
    rows.forEach((row, k) => {
      const { cells } = row;
      const paid = result !== null && result.place[k] !== null;
      row.element.classList.toggle("chosen", result !== null && result.choice === k);
      row.element.classList.toggle("over", result !== null && !paid);
      const pays = result === null || k === NOTHING ? null : result.pays[k];
      show(cells.pays, pays === null ? words.none : share(pays, effective), pays);
      const net = paid && k !== NOTHING ? result.net[k] : null;
      show(cells.net, net ? amountWithError(...net) : words.none, net && net[0]);
      show(cells.best, paid ? share(result.best[k], effective) : words.none,
        paid ? result.best[k] : null);
      row.bar.style.width = `${paid ? 100 * result.best[k] : 0}%`;
      const over = result === null ? words.none : words.over_budget;
      show(cells.loss, paid ? amountWithError(...result.lost[k]) : over, paid ? result.loss[k] : null);
      show(cells.place, paid ? String(result.place[k]) : words.none, null);
    });
    if (shownOrder === null) {
      const last = OPTIONS + 1;
      shownOrder = rows.map((_, k) => k);
      if (result) {
        shownOrder.sort((a, b) => (result.place[a] ?? last) - (result.place[b] ?? last) || a - b);
      }
      byId("rows").replaceChildren(...shownOrder.map((k) => rows[k].element));
    }
    const sorted = result === null || shownOrder.every((k, index) => index === 0
      || (result.place[shownOrder[index - 1]] ?? OPTIONS + 1) <= (result.place[k] ?? OPTIONS + 1));
    idle(byId("sort"), sorted);
  }

  /** A sentence whose names stand apart, so that no script of theirs turns the rest around. */
  function sentence(key, fields = {}) {
    const parts = words[key].split(/\{(\w+)\}/).map((part, index) => {
      if (index % 2 === 0) return part;
      return part === "option" || part === "decision" ? make("bdi", {}, fields[part]) : fields[part];
    });
    return make("p", {}, ...parts);
  }

  const verdictKey = (choice) => (choice === NOTHING ? "fund_nothing" : "fund");

  /** The verdict; of figures that cannot be relied on it is only what would follow from them. */
  const soundKey = (choice, { unsound }) => `${unsound ? "unsound_" : ""}${verdictKey(choice)}`;

  let speaking = 0;

  function showDecision(result, answer) {
    const head = byId("verdict");
    const reasons = byId("reasons");
    clearTimeout(speaking);
    if (result === null) {
      head.textContent = words.no_decision;
      delete head.dataset.choice;
      reasons.replaceChildren();
      return;
    }
    const { choice, budget } = result;
    const { effective } = model();
    const option = options[choice].short;
    head.replaceChildren(...sentence(soundKey(choice, answer), { option }).childNodes);
    head.dataset.choice = options[choice].key;
    const shown = [];
    if (choice === NOTHING) {
      shown.push(budget > 0 ? sentence("nothing_pays", { budget: amount(budget) })
        : sentence("nothing_gains"));
    } else {
      const [net, error] = result.net[choice];
      shown.push(sentence(budget > 0 ? "pays" : "pays_free", {
        cost: amount(result.costs[choice]), budget: amount(budget),
        share: spelt(result.pays[choice], effective),
        net: amountWithError(Math.abs(net), error), direction: net < 0 ? words.less : words.more,
      }));
    }
    const [lost, lostError] = result.lost[choice];
    shown.push(sentence("sure", {
      share: spelt(result.best[choice], effective), loss: amountWithError(lost, lostError),
      worst: amount(result.worst, 2 * lostError),
    }));
    const often = result.best.indexOf(Math.max(...result.best));
    if (often !== choice && result.best[often] > result.best[choice] && content.risk_tolerance === null) {
      shown.push(sentence("oftener", {
        option: options[often].short, share: spelt(result.best[often], effective),
      }));
    }
    if (result.rival !== null) {
      const rival = options[result.rival].short;
      if (content.risk_tolerance === null) {
        const [lead, error] = result.lead;
        const line = sentence("rival", { option: rival, lead: amountWithError(lead, error) });
        if (lead <= 2 * error) line.append(` ${words.unsettled}`);
        shown.push(line);
      } else {
        shown.push(sentence("rival_risk", { option: rival, lead: amount(result.leadMerit) }));
      }
    }
    shown.push(sentence("study", { evpi: amount(result.evpi) }));
    if (answer.chosen !== null && answer.chosen !== options[choice].key) {
      const own = options.findIndex(({ key }) => key === answer.chosen);
      const line = sentence("changed", {
        decision: say(verdictKey(own), { option: options[own].short }),
      });
      line.className = "moved";
      shown.unshift(line);
    }
    head.dataset.evpi = String(result.evpi);
    head.dataset.lead = result.lead === null ? "" : String(result.lead[0]);
    reasons.replaceChildren(...shown);
    /* Told once the hand rests, not at every step of a slider. */
    speaking = setTimeout(() => {
      byId("spoken").textContent = say("spoken", {
        verdict: head.textContent, share: spelt(result.best[choice], effective),
      });
    }, 800);
  }

  function showAlarms() {
    const list = answers[state.regime].alarms;
    const box = make("section", { className: "callout", "aria-label": words.alarms });
    box.append(...list.map((text) => make("p", {}, text)));
    byId("alarms").replaceChildren(...(list.length ? [box] : []));
  }

  /* Charts. */

  const SIZE = { top: 10, right: 12, bottom: 38, left: 52 };

  function buildCharts() {
    for (const quantity of ["best", "loss"]) {
      const title = words[`chart_${quantity}`];
      const plot = make("div", {
        className: "plot", tabIndex: 0, role: "slider", "aria-label": say("chart_label", { title }),
        "aria-valuemin": "0", "aria-valuemax": String(POINTS - 1),
      });
      const reading = make("div", { className: "reading" });
      byId("charts").append(make("figure", {}, make("figcaption", {}, title), plot, reading));
      const chart = { quantity, plot, reading, at: 0, price: null, points: [] };
      charts.push(chart);
      plot.addEventListener("pointermove", (event) => {
        const box = plot.getBoundingClientRect();
        const width = box.width - SIZE.left - SIZE.right;
        const point = ((event.clientX - box.left - SIZE.left) / width) * (POINTS - 1);
        moveTo(chart, Math.round(point));
      });
      plot.addEventListener("keydown", (event) => {
        const moves = {
          ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -8, PageUp: 8,
          Home: -POINTS, End: POINTS,
        };
        if (!(event.key in moves)) return;
        event.preventDefault();
        moveTo(chart, chart.at + moves[event.key]);
      });
    }
    new ResizeObserver(() => charts.forEach(drawChart)).observe(byId("charts"));
  }

  function moveTo(chart, point) {
    chart.at = Math.min(POINTS - 1, Math.max(0, point));
    drawChart(chart);
  }

  function showCharts() {
    const points = curves(model(), state);
    for (const chart of charts) {
      chart.points = points;
      /* What is read off follows the price until it is moved by itself. */
      if (chart.price !== state.price) {
        chart.price = state.price;
        chart.at = Math.round(shareOfWay(state.price) * (POINTS - 1));
      }
      drawChart(chart);
    }
  }

  /** Options that are worth a line: best somewhere, and doing nothing. */
  function drawn(points) {
    return options.map((_, k) => k).filter((k) => (
      k === NOTHING || points.some(({ best }) => best !== null && best[k] >= 0.01)
    ));
  }

  function ticksUpTo(top) {
    const unitStep = decade(top / 4);
    const step = [1, 2, 5, 10].map((m) => m * unitStep).find((s) => top / s <= 5);
    return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => i * step);
  }

  function drawChart(chart) {
    const { plot, points, quantity } = chart;
    const width = plot.clientWidth;
    const height = plot.clientHeight || 240;
    if (!width || !points.length) return;
    const lines = drawn(points);
    const known = points.filter((point) => point.best !== null);
    const shownValues = known.flatMap((point) => lines.map((k) => point[quantity][k]));
    const highest = Math.max(quantity === "best" ? 0.01 : 1, ...shownValues.filter(Number.isFinite));
    const top = quantity === "best" ? Math.min(1, Math.ceil(5 * highest + 0.1) / 5) : highest;
    const inner = { width: width - SIZE.left - SIZE.right, height: height - SIZE.top - SIZE.bottom };
    const x = (price) => SIZE.left + shareOfWay(price) * inner.width;
    const y = (value) => SIZE.top + (1 - value / top) * inner.height;
    const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    for (const tick of ticksUpTo(top)) {
      picture.append(
        draw("line", { class: "grid", x1: SIZE.left, x2: width - SIZE.right, y1: y(tick), y2: y(tick) }),
        draw("text", { x: SIZE.left - 6, y: y(tick) + 4, "text-anchor": "end" },
          quantity === "best" ? `${Math.round(100 * tick)}%` : amount(tick)),
      );
    }
    const between = inner.width > 420 ? [0.5, 2] : [];
    for (const price of [1 / content.span, 1, content.span, ...between]) {
      picture.append(
        draw("line", {
          class: "axis", x1: x(price), x2: x(price),
          y1: SIZE.top + inner.height, y2: SIZE.top + inner.height + 4,
        }),
        draw("text", {
          x: x(price), y: height - 22, "text-anchor": price === content.span ? "end" : "middle",
        }, brief(price * (content.price ?? 1))),
      );
    }
    picture.append(
      draw("line", {
        class: "axis", x1: SIZE.left, x2: width - SIZE.right, y1: y(0), y2: y(0),
      }),
      draw("text", { x: SIZE.left + inner.width / 2, y: height - 5, "text-anchor": "middle" },
        content.currency ? say("axis_currency", content) : words.axis_relative),
      draw("line", {
        class: "now", x1: x(state.price), x2: x(state.price), y1: SIZE.top, y2: y(0),
      }),
    );
    const chosen = byId("verdict").dataset.choice;
    for (const k of lines) {
      let path = "";
      for (const { price, [quantity]: values } of points) {
        const value = values === null ? NaN : values[k];
        const move = path === "" || path.endsWith(" ") ? "M" : "L";
        path += Number.isFinite(value) ? `${move}${x(price).toFixed(1)},${y(value).toFixed(1)}`
          : path === "" ? "" : " ";
      }
      const line = colour(draw("path", {
        class: "line", d: path.trim(), "stroke-dasharray": DASHES[k % DASHES.length],
      }), k);
      line.classList.toggle("strong", options[k].key === chosen);
      picture.append(line);
    }
    const point = points[chart.at];
    picture.append(draw("line", {
      class: "cursor", x1: x(point.price), x2: x(point.price), y1: SIZE.top, y2: y(0),
    }));
    const values = point[quantity];
    const shown = values === null ? [] : lines.filter((k) => Number.isFinite(values[k]));
    for (const k of shown) {
      picture.append(colour(draw("circle", {
        class: "dot", cx: x(point.price), cy: y(values[k]), r: 4,
      }), k));
    }
    plot.replaceChildren(picture);
    read(chart, point, shown);
  }

  function read(chart, point, shown) {
    const { plot, reading, quantity } = chart;
    const values = point[quantity];
    const write = (value) => (quantity === "best" ? share(value, model().effective) : amount(value, 1));
    const sign = quantity === "best" ? -1 : 1;
    const sorted = [...shown].sort((a, b) => sign * (values[a] - values[b]) || a - b);
    const items = sorted.map((k) => {
      const key = draw("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" });
      key.append(draw("line", {
        x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": DASHES[k % DASHES.length],
      }));
      const item = colour(make("li", {}, key, make("bdi", {}, options[k].short),
        make("strong", {}, write(values[k]))), k);
      item.dataset.value = String(values[k]);
      item.dataset.option = options[k].key;
      return item;
    });
    const where = say("reading", { price: priceText(point.price) });
    reading.replaceChildren(make("span", {}, where), make("ul", {}, ...items));
    reading.dataset.price = String(point.price);
    plot.setAttribute("aria-valuenow", String(chart.at));
    plot.setAttribute("aria-valuetext",
      [where, ...sorted.map((k) => `${options[k].short} ${write(values[k])}`)].join(" "));
  }

  async function start() {
    fromFragment();
    buildTable();
    bindControls();
    buildCharts();
    await load();
    byId("page").hidden = false;
    refresh();
    showAlarms();
    byId("regime").addEventListener("change", showAlarms);
    byId("reset").addEventListener("click", showAlarms);
    addEventListener("hashchange", async () => {
      if (location.hash.slice(1) === written) return;
      fromFragment();
      await load();
      refresh();
      showAlarms();
    });
    document.documentElement.dataset.ready = "true";
  }

  start().catch((error) => {
    byId("failure").hidden = false;
    byId("failure").textContent = say("failure", { reason: String(error && error.message) });
  });
})();
