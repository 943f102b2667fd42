// SPDX-License-Identifier: MIT
// Reads the encoding that viewer_data.cpp describes.
var retention = (function () {
  "use strict";
  var ZERO = 0x800000, INFINITE = 0x7f8000;
  var data = JSON.parse(document.getElementById("data").textContent);
  var count = data.texts.length;
  var columns = ["score"].concat(data.parts);

  function reader(base64) {
    var bytes = atob(base64), at = 0;
    function next() {
      var value = 0, factor = 1, byte;
      do {
        byte = bytes.charCodeAt(at++);
        value += (byte & 127) * factor;
        factor *= 128;
      } while (byte > 127);
      return value;
    }
    function signed() {
      var value = next();
      return value % 2 ? -(value + 1) / 2 : value / 2;
    }
    return { next: next, signed: signed };
  }

  var bits = new DataView(new ArrayBuffer(4));
  function valueOf(code) {
    if (code === 0) return NaN;
    bits.setUint32(0, Math.abs(code - ZERO) * 256);
    return code < ZERO ? -bits.getFloat32(0) : bits.getFloat32(0);
  }

  // When each token of a group was evicted (index of the selection, or -1), and how many were live
  // after each selection.
  function load(g) {
    if (g.evictedAt) return g;
    g.evictedAt = new Int32Array(count).fill(-1);
    g.live = [];
    var gone = 0;
    g.steps.forEach(function (s, index) {
      var read = reader(s.e), left = read.next(), token = 0;
      s.evicted = left;
      for (var i = 0; i < left; ++i) {
        token += read.next();
        g.evictedAt[token] = index;
      }
      gone += left;
      g.live.push(s.seen - gone);
    });
    g.codes = columns.map(function () { return new Int32Array(count); });
    g.decoded = -1;
    return g;
  }

  // Goes on from the selection decoded last where that is on the way, else from a key selection.
  function decode(g, index) {
    var from = Math.floor(index / data.key) * data.key;
    if (g.decoded >= from && g.decoded < index) from = g.decoded + 1;
    var out = null;
    for (var i = from; i <= index; ++i) out = decodeOne(g, i);
    g.decoded = index;
    return out;
  }

  function decodeOne(g, index) {
    var s = g.steps[index], read = reader(s.d), tokens = [], i, j, at;
    if (index % data.key === 0) g.codes.forEach(function (c) { c.fill(ZERO); });
    if (read.next() === 1) {
      for (i = 0; i < s.seen; ++i) {
        if (g.evictedAt[i] < 0 || g.evictedAt[i] >= index) tokens.push(i);
      }
    } else {
      for (i = read.next(), at = 0; i > 0; --i) {
        at += read.next();
        for (j = read.next(); j > 0; --j) tokens.push(at++);
      }
    }
    var slots = null;
    if (read.next() === 1) {
      slots = new Map();
      for (i = 0, at = 0; i < tokens.length;) {
        var difference = read.signed();
        for (j = read.next(); j > 0; --j) {
          at += difference;
          slots.set(tokens[i++], at++);
        }
      }
    }
    g.codes.forEach(function (codes) {
      for (i = 0; i < tokens.length;) {
        var change = read.signed();
        if (change === 0) i += read.next() + 1;
        else codes[tokens[i++]] += change;
      }
    });
    return { tokens: tokens, slots: slots };
  }

  return {
    data: data,
    columns: columns,
    load: load,
    decode: decode,
    valueOf: valueOf,
    isInfinite: function (code) { return Math.abs(code - ZERO) === INFINITE; }
  };
})();
