/** The page of a 401: it says how to get in. It has no script and loads nothing. */
export function loginPage(): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Belay: login needed</title>
<body style="font:16px/1.5 system-ui;max-width:40em;margin:4em auto;padding:0 1em">
<h1>Login needed</h1>
<p>Open the link that the server printed when it started. It ends in <code>#t=…</code> and signs this browser in for twelve hours.</p>
<p>In a terminal of the same machine, <code>belay serve</code> prints the link again.</p>
<p>Programs send the token as <code>authorization: Bearer …</code>.</p>`;
  return new Response(html, {
    status: 401,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
      "cache-control": "no-store",
    },
  });
}
