// SPDX-License-Identifier: MIT
// Shows what viewer_decode.js reads.
(function () {
  "use strict";
  var SHADES = 12;
  var byId = function (id) { return document.getElementById(id); };
  var data = retention.data, columns = retention.columns;
  var decode = retention.decode, valueOf = retention.valueOf;
  var count = data.texts.length;
  var generated = new Uint8Array(count);
  var spans = new Array(count);
  var shown = new Array(count);  // class name of each token, to touch only what changes
  var text = byId("text"), slider = byId("slider"), panel = byId("panel");
  var group = null, step = 0, frame = null;  // frame: the decoded selection that is shown
  var held = -1, under = -1, stop = -1;      // token held, under the pointer, in the tab order
  var timer = 0;

  // ---- the text ----

  // Makes visible what has no shape; line breaks also break the line where `breaks`.
  function visible(raw, breaks) {
    if (raw === "") return "\u2205";
    return raw.replace(/[\u0000-\u001f\u007f\u0085\u2028\u2029\u200b-\u200f\u202a-\u202e\ufeff]/g,
      function (c) {
        if (c === "\n") return breaks ? "\u23ce\n" : "\u23ce";
        if (c === "\t") return breaks ? "\u21e5\t" : "\u21e5";
        var code = c.charCodeAt(0);
        if (code < 32) return String.fromCharCode(0x2400 + code);
        if (code === 127) return "\u2421";
        return "\u27e8" + code.toString(16).toUpperCase().padStart(4, "0") + "\u27e9";
      });
  }

  function build() {
    var fragment = document.createDocumentFragment(), at = 0;
    data.runs.forEach(function (length, i) {
      if (i % 2) generated.fill(1, at, at + length);
      at += length;
    });
    for (var i = 0; i < count; ++i) {
      var span = document.createElement("span"), content = visible(data.texts[i], true);
      // The last break stands outside, or the token's box would reach into the next line.
      var breaks = content.endsWith("\n");
      span.textContent = breaks ? content.slice(0, -1) : content;
      span.setAttribute("role", "option");
      span.tabIndex = -1;
      span.token = i;
      spans[i] = span;
      fragment.appendChild(span);
      if (breaks) fragment.appendChild(document.createTextNode("\n"));
    }
    text.appendChild(fragment);
  }

  // The shade of each scored token in the chosen column; -1 without a value, -2 if infinite.
  function shades() {
    var codes = group.codes[byId("column").selectedIndex];
    var out = new Map(), finite = [];
    frame.tokens.forEach(function (token) {
      var code = codes[token];
      if (code === 0) out.set(token, -1);
      else if (retention.isInfinite(code)) out.set(token, -2);
      else finite.push(token);
    });
    // Codes are in the order of the values.
    finite.sort(function (a, b) { return codes[a] - codes[b]; });
    var last = finite.length - 1;
    if (last < 0) return out;
    var low = valueOf(codes[finite[0]]), high = valueOf(codes[finite[last]]);
    var byRank = byId("scale").value === "rank", rank = 0;
    finite.forEach(function (token, i) {
      if (codes[token] !== codes[finite[rank]]) rank = i;
      var share = byRank ? (last ? rank / last : 1)
                         : (high > low ? (valueOf(codes[token]) - low) / (high - low) : 1);
      out.set(token, Math.min(SHADES - 1, Math.floor(share * SHADES)));
    });
    byId("ramp-text").textContent = columns[byId("column").selectedIndex] + ": low to high, " +
      number(low) + " to " + number(high);
    return out;
  }

  function fate(token) {
    if (!group || !group.steps.length) return "kept";
    if (token >= group.steps[step].seen) return "later";
    var at = group.evictedAt[token];
    return at < 0 || at > step ? "kept" : at === step ? "now" : "old";
  }

  function paint() {
    byId("ramp-text").textContent = "low to high";
    var shade = frame ? shades() : new Map();
    for (var i = 0; i < count; ++i) {
      var state = fate(i), name = generated[i] ? "t" : "t prompt";
      if (state === "kept") {
        var s = shade.has(i) ? shade.get(i) : -1;
        state = s === -1 ? "none" : s === -2 ? "inf" : "c" + s;
      }
      name += " " + state + (i === held ? " held" : "");
      if (name !== shown[i]) {
        shown[i] = name;
        spans[i].className = name;
      }
    }
  }

  // ---- numbers ----

  function number(value) {
    if (isNaN(value)) return "none";
    if (value === Infinity) return "\u221e";
    if (value === -Infinity) return "\u2212\u221e";
    var size = Math.abs(value), tiny = size > 0 && (size < 1e-3 || size >= 1e7);
    return (tiny ? value.toExponential(3) : String(Number(value.toPrecision(4))))
      .replace(/-/g, "\u2212");
  }

  function whole(value) { return value.toLocaleString("en-US"); }

  function add(parent, tag, content, name) {
    var element = document.createElement(tag);
    element.textContent = content;
    if (name) element.className = name;
    parent.appendChild(element);
    return element;
  }

  function describe() {
    var token = held >= 0 ? held : under;
    panel.textContent = "";
    if (token < 0) {
      add(panel, "p", count ? "Point at a token, or tap it, to see its score and its fate."
        : "There are no tokens.", "hint");
      return;
    }
    add(panel, "p", "\u201c" + visible(data.texts[token], false) + "\u201d", "word");
    var state = fate(token), at = group ? group.evictedAt[token] : -1;
    add(panel, "p", state === "later" ? "Not yet there" : state === "now" ? "Evicted at this step"
      : state === "old" ? "Evicted at step " + whole(group.steps[at].n) : "In the cache",
    "fate" + (state === "now" || state === "old" ? " lost" : ""));
    var list = add(panel, "dl", "");
    function row(name, value) {
      add(list, "dt", name);
      add(list, "dd", value);
    }
    row("position", whole(data.positions[token]));
    row("part of", generated[token] ? "generated text" : "prompt");
    if (at >= 0 && state === "kept") row("evicted later, at", whole(group.steps[at].n));
    if (!frame || state === "later") return;
    (state === "old" ? last(token) : scores(token)).forEach(function (each) {
      row(each[0], each[1]);
    });
  }

  // Slot, score and parts of a token at the decoded selection.
  function scores(token) {
    var out = [];
    if (frame.slots && frame.slots.has(token)) out.push(["slot", whole(frame.slots.get(token))]);
    if (frame.tokens.indexOf(token) < 0) return out.concat([["score", "none"]]);
    return out.concat(columns.map(function (name, i) {
      return [name, number(valueOf(group.codes[i][token]))];
    }));
  }

  // The same at the selection that evicted the token, kept because it means decoding twice.
  function last(token) {
    if (!group.last) group.last = new Map();
    if (!group.last.has(token)) {
      frame = decode(group, group.evictedAt[token]);
      group.last.set(token, scores(token));
      frame = decode(group, step);
    }
    return group.last.get(token);
  }

  // ---- steps ----

  function counts() {
    var box = byId("counts"), s = group && group.steps[step];
    box.textContent = "";
    function item(value, label) {
      if (box.textContent) box.appendChild(document.createTextNode(" \u00b7 "));
      add(box, "b", value);
      box.appendChild(document.createTextNode(" " + label));
    }
    item(whole(s ? group.live[step] : count), "live");
    item(data.budget > 0 ? whole(data.budget) : "no", "budget");
    if (s) {
      item(whole(s.evicted), "evicted now");
      item(whole(s.seen - group.live[step]), "evicted in all");
      item(whole(s.seen), "of " + whole(count) + " tokens seen");
    }
    byId("where").textContent = s
      ? "step " + whole(s.n) + " (" + (step + 1) + " of " + group.steps.length + ")"
      : "no selections";
  }

  function path(parent, name, d) {
    var element = document.createElementNS("http://www.w3.org/2000/svg", "path");
    element.setAttribute("class", name);
    element.setAttribute("d", d);
    parent.appendChild(element);
  }

  function trend() {
    var box = byId("trend"), n = group ? group.live.length : 0, i;
    box.textContent = "";
    box.style.display = n > 1 ? "" : "none";
    if (n < 2) return;
    var most = Math.max(1, data.budget), d = "";
    for (i = 0; i < n; ++i) most = Math.max(most, group.live[i] + group.steps[i].evicted);
    box.setAttribute("viewBox", "0 0 " + (n - 1) + " 100");
    // A saw: live before, then after each selection.
    for (i = 0; i < n; ++i) {
      var before = 100 - 100 * (group.live[i] + group.steps[i].evicted) / most;
      var after = 100 - 100 * group.live[i] / most;
      d += (i ? "L" : "M") + i + " " + before.toFixed(1) + "L" + i + " " + after.toFixed(1);
    }
    path(box, "area", d + "L" + (n - 1) + " 100L0 100Z");
    path(box, "live", d);
    if (data.budget > 0) {
      path(box, "budget", "M0 " + (100 - 100 * data.budget / most) + "H" + (n - 1));
    }
    path(box, "here", "M" + step + " 0V100");
  }

  function show(index) {
    var last = group ? group.steps.length - 1 : -1;
    step = Math.max(0, Math.min(index, last));
    frame = last >= 0 ? decode(group, step) : null;
    slider.value = step;
    counts();
    var here = byId("trend").querySelector(".here");
    if (here) here.setAttribute("d", "M" + step + " 0V100");
    slider.setAttribute("aria-valuetext", byId("where").textContent);
    byId("back").disabled = step === 0;
    byId("forth").disabled = step >= last;
    paint();
    describe();
    follow();
  }

  // Brings the newest token of the step into view.
  function follow() {
    if (!byId("follow").checked || !group || !count) return;
    var newest = frame ? group.steps[step].seen - 1 : count - 1;
    if (newest >= 0) spans[newest].scrollIntoView({ block: "center" });
  }

  function choose(index, near) {
    group = data.groups.length ? retention.load(data.groups[index]) : null;
    var last = group ? group.steps.length - 1 : -1, found = 0;
    while (found < last && group.steps[found].n < near) ++found;
    slider.max = Math.max(0, last);
    slider.disabled = last < 1;
    byId("play").disabled = last < 1;
    step = found;
    trend();
    show(found);
  }

  function play(on) {
    clearInterval(timer);
    timer = 0;
    byId("play").textContent = on ? "Pause" : "Play";
    byId("play").setAttribute("aria-pressed", String(on));
    if (!on) return;
    if (step >= Number(slider.max)) show(0);
    timer = setInterval(function () {
      if (step >= Number(slider.max)) play(false);
      else show(step + 1);
    }, 160);
  }

  // ---- the reader ----

  function tokenAt(target) { return target && target.token >= 0 ? target.token : -1; }

  function enter(token) {
    if (token >= count || token < 0) return;
    if (stop >= 0) spans[stop].tabIndex = -1;
    stop = token;
    spans[token].tabIndex = 0;
  }

  function hold(token) {
    if (held >= 0) spans[held].removeAttribute("aria-selected");
    held = token === held ? -1 : token;
    if (held >= 0) spans[held].setAttribute("aria-selected", "true");
    paint();
    describe();
  }

  // The token above or below: the first in that direction whose line differs and whose end reaches
  // the same place.
  function vertical(token, direction) {
    var from = spans[token].getBoundingClientRect(), line = null, best = token, way = Infinity;
    for (var i = token + direction; i >= 0 && i < count; i += direction) {
      var box = spans[i].getBoundingClientRect();
      if (Math.abs(box.top - from.top) < 4) continue;
      if (line === null) line = box.top;
      if (Math.abs(box.top - line) >= 4) break;
      if (Math.abs(box.left - from.left) < way) {
        way = Math.abs(box.left - from.left);
        best = i;
      }
    }
    return best;
  }

  text.addEventListener("pointerover", function (event) {
    if (event.pointerType === "touch") return;
    under = tokenAt(event.target);
    if (held < 0) describe();
  });
  text.addEventListener("pointerleave", function () {
    under = tokenAt(document.activeElement);
    if (held < 0) describe();
  });
  text.addEventListener("focusin", function (event) {
    under = tokenAt(event.target);
    enter(under);
    if (held < 0) describe();
  });
  text.addEventListener("click", function (event) {
    if (tokenAt(event.target) >= 0) hold(tokenAt(event.target));
  });
  text.addEventListener("keydown", function (event) {
    var token = tokenAt(event.target), to = -1;
    if (token < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight") to = token + 1;
    else if (event.key === "ArrowLeft") to = token - 1;
    else if (event.key === "ArrowDown") to = vertical(token, 1);
    else if (event.key === "ArrowUp") to = vertical(token, -1);
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = count - 1;
    else if (event.key === "Enter" || event.key === " ") hold(token);
    else return;
    event.preventDefault();
    if (to >= 0 && to < count) spans[to].focus();
  });
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    if (event.key === ",") show(step - 1);
    else if (event.key === ".") show(step + 1);
    else if (event.key === "p" && Number(slider.max) > 0) play(!timer);
    else if (event.key === "Escape" && held >= 0) hold(held);
  });
  slider.addEventListener("input", function () {
    play(false);
    show(Number(slider.value));
  });
  byId("back").addEventListener("click", function () { show(step - 1); });
  byId("forth").addEventListener("click", function () { show(step + 1); });
  byId("play").addEventListener("click", function () { play(!timer); });
  byId("follow").addEventListener("change", follow);
  byId("column").addEventListener("change", paint);
  byId("scale").addEventListener("change", paint);
  byId("group").addEventListener("change", function () {
    var near = group && group.steps.length ? group.steps[step].n : 0;
    play(false);
    choose(byId("group").selectedIndex, near);
  });

  // ---- start ----

  columns.forEach(function (name) { add(byId("column"), "option", name); });
  data.groups.forEach(function (g, i) { add(byId("group"), "option", g.name || "keep-set " + i); });
  byId("group-label").hidden = data.groups.length < 2;
  for (var i = 0; i < SHADES; ++i) add(byId("ramp"), "i", "", "c" + i);
  build();
  if (count) enter(0);
  choose(0, 0);
  document.documentElement.setAttribute("data-ready", "");
})();
