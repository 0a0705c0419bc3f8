// Speaks to the API: paths are relative to the page, so that it works under any root path. A refusal is an ApiError, which
// carries what the API said: a text, or field, rule, value and fix, or where in a filter the mistake is.

export class ApiError extends Error {
  constructor(status, said) {
    super(typeof said === "string" ? said : (said && (said.text || said.rule)) || `the API answered ${status}`);
    this.status = status;
    this.said = said;
  }
}

let token = "";

async function answer(path, options) {
  let response;
  try {
    response = await fetch(`api/${path}`, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The dashboard's server cannot be reached. Is it running?");
  }
  let body = null;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (response.ok) throw new ApiError(response.status, "The API answered with something that is no JSON.");
  }
  if (!response.ok) throw new ApiError(response.status, (body && body.error) || `The API answered ${response.status}.`);
  return body;
}

export function get(path, signal) {
  return answer(path, { signal });
}

export async function me() {
  const found = await get("me");
  token = found.csrf || "";
  return found;
}

export function act(what) {
  return answer("act", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Tenure-CSRF": token },
    body: JSON.stringify(what),
  });
}

// The session is forgotten, and the server's own page asks who it is.
export async function leave() {
  await fetch("logout", { method: "POST", credentials: "same-origin", headers: { "X-Tenure-CSRF": token } });
  location.assign("login");
}

export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
