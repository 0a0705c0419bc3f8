// What every file of the page builds with: Preact, its hooks, and htm bound to it.
import { h, render, Fragment } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
export { Fragment, render };
export const html = htm.bind(h);
