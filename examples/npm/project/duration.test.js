import assert from "node:assert/strict";
import { test } from "node:test";
import { seconds } from "./duration.js";

for (const [text, want] of [["90s", 90], ["1h30m", 5400], ["2d", 172800]]) {
  test(`${text} is ${want} seconds`, () => assert.equal(seconds(text), want));
}

for (const text of ["", "soon", "5m later", "1.5h"]) {
  test(`${JSON.stringify(text)} is invalid`, () => assert.throws(() => seconds(text), /invalid duration/));
}
