// Tests with visits, and what no visit may do.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PATIENCE, Visit, endShared } from "./visitor.mjs";

/** Part of the names of the tests to run; empty for all. */
const WORD = process.env.TERRAVOX_PAGE_TESTS ?? "";
const isWanted = (name) => name.toLowerCase().includes(WORD.toLowerCase());
let count = 0;

after(async () => {
  await endShared();
  assert(count > 0, `no test has “${WORD}” in its name`);
});

/**
 * A test with visits. What it is given makes one: `visit(path, options)`. Fails also if a page asked another
 * origin, violated its policy, threw, or wrote an error to the console.
 */
export function visitTest(name, body, options = {}) {
  if (isWanted(name)) addTest(name, body, options);
}

function addTest(name, body, options = {}) {
  count++;
  test(name, { timeout: 4 * PATIENCE, ...options }, async (context) => {
    const visits = [];
    const visit = async (path = "/", options = {}) => {
      const one = await Visit.prepare(options);
      visits.push(one);
      await one.begin(path, options);
      return one;
    };
    try {
      await explained(name, visits, () => body(visit, context));
    } finally {
      for (const one of visits) await one.leave();
    }
    for (const one of visits) assert.deepEqual(one.wrongs, [], "what no visit may do");
  });
}

/** Tests that share one visit, each of a name: most of the time of a short one would be its beginning. */
export function visitTests(name, options, tests) {
  const wanted = Object.entries(tests).filter(([inner]) => isWanted(name) || isWanted(inner));
  if (wanted.length === 0) return;
  addTest(name, async (visit, context) => {
    const one = await visit(options.path, options);
    for (const [name, body] of wanted) {
      await context.test(name, () => explained(name, [one], () => body(one)));
    }
  });
}

/** Adds to an error what the visits saw. */
async function explained(name, visits, body) {
  try {
    await body();
  } catch (error) {
    for (const [index, one] of visits.entries()) {
      await one.keepPicture(`${name} ${index}`);
      error.message += `\n${await one.describe()}`;
    }
    throw error;
  }
}

/** How many squares of two pictures differ by more than rounding does. */
export function changed(one, other) {
  return one.filter((colour, i) => colour.some((value, j) => Math.abs(value - other[i][j]) > 12)).length;
}
