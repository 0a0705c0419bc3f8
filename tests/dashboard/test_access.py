"""Who may look, who may act, and from where: the matrix of Host, Origin, CSRF, role and login."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import tenure
from tenure.dashboard import Dashboard, DashboardSettings, hash_password, statics
from tenure.dashboard.masking import Mask
from tenure.dashboard.passwords import check_password, is_hash
from tenure.dashboard.settings import MASKED
from tenure.dashboard.throttle import Throttle
from tests.dashboard.house import OPERATOR, VIEWER, Answer, House, Served

PASSWORD = "correct horse battery"
HASH = hash_password(PASSWORD)
PAGES = [
    *("/api/me", "/api/overview", "/api/jobs", "/api/complete", "/api/jobs/0190a5d0-0000-7000-8000-000000000000"),
    *("/api/flow/x", "/api/chain/0190a5d0-0000-7000-8000-000000000000", "/api/errors", "/api/queues", "/api/workers", "/api/cron", "/api/webhooks", "/api/system"),
    *("/api/audit", "/api/undos", "/api/stream"),
]  # fmt: skip


@pytest.fixture
def guarded(light: House) -> Served:
    return light.guarded()


def log_in(served: Served, password: str, **headers: str) -> Answer:
    """The form, as a browser sends it."""
    given = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return served.ask("POST", "/login", urlencode({"password": password}).encode(), given)


def stand_still(served: Served) -> None:
    """No time goes by for those who have to wait."""
    assert isinstance(served.app, Dashboard)
    access = served.app._desk.access
    access.logins, access._tokens = Throttle(lambda: 0.0), Throttle(lambda: 0.0)


def posted(served: Served, headers: dict[str, str | None], token: str | None = None) -> Answer:
    """An action with these headers instead of the page's own."""
    bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
    csrf = served.ask("GET", "/api/me", headers=bearer).json["csrf"]
    given = {"Content-Type": "application/json", "X-Tenure-CSRF": csrf, **bearer, **headers}
    return served.ask("POST", "/api/act", b'{"action": "pause", "name": "mail"}', given)


@pytest.mark.parametrize("path", PAGES)
def test_nobody_sees_anything_before_they_log_in(guarded: Served, path: str) -> None:
    answer = guarded.get(path)
    assert (answer.status, answer.json) == (401, {"error": "log in first"})


def test_the_page_leads_to_the_login_which_has_no_script(guarded: Served) -> None:
    answer = guarded.get("/")
    assert (answer.status, answer.headers["location"]) == (303, "login")
    form = guarded.get("/login")
    assert form.status == 200
    assert form.headers["content-type"].startswith("text/html")
    assert b"<script" not in form.body
    assert b"style=" not in form.body
    assert guarded.get("/login.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize(("token", "role"), [(OPERATOR, "operator"), (VIEWER, "viewer")])
def test_a_token_opens_its_role(guarded: Served, token: str, role: str) -> None:
    assert guarded.get("/api/me", token=token).json["role"] == role
    assert guarded.get("/api/jobs", token=token).status == 200


@pytest.mark.parametrize("token", ["", "x" * 25, OPERATOR[:-1], OPERATOR + "x", "é" * 20])
def test_a_wrong_token_opens_nothing(guarded: Served, token: str) -> None:
    answer = guarded.ask(
        "GET", "/api/me", headers={"Authorization": f"Bearer {token}".encode().decode("latin-1")}
    )
    assert answer.status == 401


def test_viewers_look_and_change_nothing(guarded: Served, light: House) -> None:
    answer = guarded.act("pause", name="mail", token=VIEWER)
    assert answer.status == 403
    assert light.q.paused() == {}
    assert guarded.act("pause", name="mail", token=OPERATOR).status == 200
    assert list(light.q.paused()) == ["mail"]


def test_viewers_are_not_told_what_they_cannot_undo(guarded: Served, light: House) -> None:
    light.dead("send")
    guarded.act("discard", q="state:dead", token=OPERATOR)
    answer = guarded.get("/api/undos", token=VIEWER)
    assert (answer.status, answer.json) == (403, {"error": "viewers can look, and undo nothing"})
    assert len(guarded.get("/api/undos", token=OPERATOR).json["undos"]) == 1


def test_a_password_opens_a_session_with_a_cookie_that_no_script_and_no_other_site_gets(light: House) -> None:
    served = light.serve(DashboardSettings(operator_password=HASH))
    answer = log_in(served, PASSWORD)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    kept = {"Cookie": cookie.partition(";")[0]}
    me = served.ask("GET", "/api/me", headers=kept).json
    assert me["role"] == "operator"
    body, csrf = b'{"action": "pause", "name": "mail"}', {"X-Tenure-CSRF": me["csrf"]}
    typed = {"Content-Type": "application/json", **kept}
    assert served.ask("POST", "/api/act", body, typed).status == 403
    assert served.ask("POST", "/api/act", body, {**typed, **csrf}).status == 200
    assert served.ask("POST", "/logout", headers=kept).status == 403
    assert served.ask("POST", "/logout", headers={**kept, **csrf}).status == 204
    assert served.ask("GET", "/api/me", headers=kept).status == 401
    assert [one.action for one in light.q.audits()] == ["log out", "pause", "log in"]


def test_one_sessions_csrf_token_is_no_good_in_another(light: House) -> None:
    served = light.serve(DashboardSettings(operator_password=HASH))
    first, second = (log_in(served, PASSWORD).headers["set-cookie"].partition(";")[0] for _ in range(2))
    csrf = served.ask("GET", "/api/me", headers={"Cookie": first}).json["csrf"]
    headers = {"Cookie": second, "X-Tenure-CSRF": csrf, "Content-Type": "application/json"}
    assert served.ask("POST", "/api/act", b'{"action": "pause", "name": "m"}', headers).status == 403


def test_a_wrong_password_is_told_kept_and_slowed_down(light: House) -> None:
    served = light.guarded()
    answers = [log_in(served, "wrong") for _ in range(7)]
    assert [answer.status for answer in answers] == [401, 401, 401, 401, 401, 429, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert log_in(served, OPERATOR).status == 429
    assert {one.said for one in light.q.audits()} == {"refused"}


def test_many_passwords_at_once_are_no_more_than_many_in_turn(light: House) -> None:
    served = light.serve(DashboardSettings(operator_password=HASH))
    stand_still(served)
    with ThreadPoolExecutor(12) as guessing:
        answers = list(guessing.map(lambda n: log_in(served, f"wrong {n}").status, range(12)))
    assert sorted(answers) == [401] * 5 + [429] * 7


def test_wrong_tokens_are_slowed_down_and_lock_nobody_out_who_has_the_right_one(light: House) -> None:
    served = light.guarded()
    stand_still(served)
    assert [served.get("/api/me", token="x" * 25).status for _ in range(7)] == [401] * 5 + [429] * 2
    assert [served.get("/api/me", token=token).status for token in (OPERATOR, VIEWER)] == [200, 200]
    assert log_in(served, OPERATOR).status == 303
    assert served.get("/api/me", token="x" * 25).status == 429


def test_who_guesses_waits_twice_as_long_each_time_and_is_forgotten_in_the_end() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    waits = []
    for _ in range(9):
        throttle.failed("a")
        waits.append(throttle.wait("a"))
    assert waits == [0, 0, 0, 0, 1, 2, 4, 8, 16]
    assert throttle.wait("b") == 0
    for _ in range(20):
        throttle.failed("a")
    assert throttle.wait("a") == 900
    now[0] = 4_000.0
    throttle.failed("a")
    assert throttle.wait("a") == 0
    throttle.passed("a")
    assert throttle.wait("a") == 0


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8788", 200),
        ("localhost:8788", 200),
        ("LOCALHOST", 200),
        ("[::1]:8788", 200),
        ("desk.example", 200),
        ("evil.example", 421),
        ("evil.example:8788", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("10.1.2.3", 421),
        ("", 421),
    ],
)
def test_only_hosts_of_ours_are_answered(light: House, host: str, status: int) -> None:
    served = light.serve(DashboardSettings(hosts=("desk.example",)))
    for path in ("/api/me", "/", "/static/index.html"):
        answer = served.ask("GET", path, headers={"Host": host})
        assert (answer.status == 421) == (status == 421)


def test_where_one_must_log_in_a_bare_address_is_a_host_of_ours(guarded: Served) -> None:
    """An address cannot be pointed elsewhere, as a name can."""
    assert guarded.ask("GET", "/login", headers={"Host": "10.1.2.3:8788"}).status == 200
    assert guarded.ask("GET", "/login", headers={"Host": "evil.example"}).status == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://{host}"}, 200),
        ({"Origin": "http://{host}", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://{host}.evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://{host}", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"X-Tenure-CSRF": None}, 403),
        ({"X-Tenure-CSRF": ""}, 403),
        ({"X-Tenure-CSRF": "0" * 64}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
    ids=repr,
)
@pytest.mark.parametrize("token", [None, OPERATOR], ids=["open", "token"])
def test_what_changes_something_comes_from_our_own_page_with_its_token(
    light: House, headers: dict[str, str | None], status: int, token: str | None
) -> None:
    served = light.serve() if token is None else light.guarded()
    host = f"127.0.0.1:{served.port}"
    given = {name: None if value is None else value.format(host=host) for name, value in headers.items()}
    assert posted(served, given, token).status == status
    assert (list(light.q.paused()) == ["mail"]) == (status == 200)


def test_another_sites_form_cannot_log_anybody_in(light: House) -> None:
    served = light.guarded()
    assert log_in(served, OPERATOR, Origin="http://evil.example").status == 403
    assert log_in(served, OPERATOR, **{"Sec-Fetch-Site": "cross-site"}).status == 403
    assert log_in(served, OPERATOR, Origin=f"http://127.0.0.1:{served.port}").status == 303


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host"])
def test_without_a_password_nothing_that_was_passed_on_is_answered(light: House, header: str) -> None:
    served = light.serve()
    assert served.ask("GET", "/api/jobs", headers={header: "127.0.0.1"}).status == 403


@pytest.mark.parametrize("path", ["/api/act", "/logout"])
def test_what_changes_something_is_not_for_get(light: House, path: str) -> None:
    assert light.serve().get(path).status == 405


@pytest.mark.parametrize("path", ["/api/jobs", "/api/me", "/", "/api/stream"])
def test_what_is_looked_at_is_not_for_post(light: House, path: str) -> None:
    assert light.serve().ask("POST", path).status == 405


@pytest.mark.parametrize(
    "path", ["/api/me", "/", "/login", "/api/nothing", "/static/index.html", "/api/jobs?q=x:"]
)
def test_every_answer_carries_the_headers_that_keep_strangers_out(guarded: Served, path: str) -> None:
    headers = guarded.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_a_hash_is_checked_and_tells_nothing() -> None:
    assert is_hash(HASH)
    assert check_password(PASSWORD, HASH)
    assert not check_password(PASSWORD + "x", HASH)
    assert PASSWORD not in HASH
    assert hash_password(PASSWORD) != HASH
    for odd in (
        "",
        "x",
        "scrypt$1$8$1$AAAA$AAAA",
        HASH.replace("32768", "2"),
        HASH.replace("32768", "9999999"),
        None,
    ):
        assert not is_hash(odd)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("operator_token", {"operator_token": "short"}),
        ("viewer_token", {"viewer_token": 5}),
        ("operator_password", {"operator_password": "plain text"}),
        ("viewer_token", {"operator_token": OPERATOR, "viewer_token": OPERATOR}),
        ("hosts", {"hosts": "name"}),
        ("session", {"session": 0}),
        ("password", None),
    ],
    ids=str,
)
def test_settings_that_are_wrong_or_weak_are_refused_without_showing_them(
    field: str, said: dict[str, str] | None
) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        hash_password("short") if said is None else DashboardSettings(**said)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert "short" not in str(caught.value)
    assert OPERATOR not in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_other_addresses_are_refused_without_a_password_or_token(host: str) -> None:
    with pytest.raises(tenure.FieldError, match="this machine alone"):
        DashboardSettings().check_address(host)
    DashboardSettings(operator_token=OPERATOR).check_address(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_needs_neither(host: str) -> None:
    DashboardSettings().check_address(host)


def test_a_viewer_is_shown_stars_where_a_secret_would_be_and_cannot_ask_for_it(house: House) -> None:
    payload = {
        "to": "a@b.c",
        "user": {"Password": "hunter2", "api-key": [1, {"x": 2}]},
        "list": [{"token": "t0p"}],
    }
    request = tenure.Request(b"password=hunter2", {"Authorization": "Bearer t0p", "content-type": "x"})
    job = house.q.enqueue_job(
        tenure.NewJob(kind="send", payload=payload, meta={"secret": "hunter2"}, request=request)
    )
    house.q.schedule("s", "@daily", "send", {"password": "hunter2"})
    served = house.guarded()
    for path in (f"/api/jobs/{job.id}", "/api/cron"):
        hidden = served.get(path, token=VIEWER)
        assert b"hunter2" not in hidden.body
        assert b"t0p" not in hidden.body
        assert b"hunter2" in served.get(path, token=OPERATOR).body
    shown = json.loads(served.get(f"/api/jobs/{job.id}", token=VIEWER).json["payload"])
    assert shown == {"to": "a@b.c", "user": {"Password": "***", "api-key": "***"}, "list": [{"token": "***"}]}
    for asked in ("payload.user.Password:h*", "-payload.list.0.token:t*"):
        assert served.get("/api/jobs", q=asked, token=VIEWER).status == 400
        assert served.get("/api/jobs", q=asked, token=OPERATOR).status == 200
    assert served.get("/api/jobs", q="payload.to:a*", token=VIEWER).status == 200
    assert served.get("/api/me", token=VIEWER).json["mask"]


def test_a_viewer_does_not_read_in_the_audit_what_could_not_be_asked_for(light: House) -> None:
    job = light.q.enqueue("send").id
    served = light.guarded()
    for said in ('state:dead payload.card.token:"t0p, t1p",t2p kind:a', 'payload.token:"t0p', "paylod.token:t0p", "payload.to:a@b.c t0p"):  # fmt: skip
        served.act("retry", q=said, token=OPERATOR)
    served.act("enqueue_edited", ids=[job], payload='{"token": "t0p"', token=OPERATOR)
    served.act("pause", name="my mail", token=OPERATOR)
    light.q.add_audit("cli me@here", "purge", "state:dead payload.to:a@b.c -payload.authToken2:t0p")
    shown, hidden = (served.get("/api/audit", token=token) for token in (OPERATOR, VIEWER))
    assert shown.body.count(b"t0p") > 5
    assert b"t0p" not in hidden.body
    assert [one["what"] for one in reversed(hidden.json["entries"])] == [
        "state:dead kind:a payload.card.token:***", "***", "paylod.token:***", "***", f"id:{job}", "my mail",
        "state:dead payload.to:a@b.c -payload.authToken2:***",
    ]  # fmt: skip


def test_what_is_masked_is_told_by_the_words_of_its_name() -> None:
    mask = Mask(MASKED)
    hidden = (
        "apiKey api_key API-KEY apikey apiKeys access_token accesstoken my_accesstoken tokens authToken2 oauth2Token userPassword"
        " userpassword PASSWORD Set-Cookie cardNumber card_numbers ssn userSSN ssns cvv2 iban_of"
    )
    assert [name for name in hidden.split() if not mask.hides(name)] == []
    shown = "business_name businessName businessname class_name process_name address_number max_tokens maxTokens n_tokens to"
    assert [name for name in shown.split() if mask.hides(name)] == []
    assert Mask(["apikey"]).hides("x-api-key")


def test_what_is_masked_is_a_setting(light: House) -> None:
    job = light.q.enqueue("send", {"password": "hunter2", "iban_of": "DE1", "shoe": "42"})
    served = light.guarded(mask=("shoe",), mask_operators=True)
    for token in (OPERATOR, VIEWER):
        told = json.loads(served.get(f"/api/jobs/{job.id}", token=token).json["payload"])
        assert told == {"password": "hunter2", "iban_of": "DE1", "shoe": "***"}


SECRETS = {
    "to": "a",
    "n": 1,
    "card": {"token": ["t0p"]},
    "list": [{"token": "t1", "n": 1}, {"token": "t2", "n": 2}],
}


@pytest.mark.parametrize(
    ("change", "made"),
    [
        ({}, {}),
        ({"to": "b", "n": True}, {"to": "b", "n": True}),
        ({"card": {"token": "new"}}, {"card": {"token": "new"}}),
        ({"note": "***"}, {"note": "***"}),
        ({"list": [{"token": "***", "n": 1}, {"n": 3}]}, {"list": [{"token": "t1", "n": 1}, {"n": 3}]}),
        ({"list": [{"token": "new"}]}, {"list": [{"token": "new"}]}),
        ({"token": "***"}, None),
        ({"list": [{"token": "***", "n": 2}]}, None),
        ({"list": [{"token": "***", "n": 2}, {"token": "***", "n": 1}]}, None),
        ({"list": [{"token": "***", "n": True}, {"token": "***", "n": 2}]}, None),
    ],
    ids=str,
)
def test_stars_that_were_left_in_an_edited_payload_stand_for_the_old_values_or_are_refused(
    light: House, change: dict[str, Any], made: dict[str, Any] | None
) -> None:
    old = light.q.enqueue("send", SECRETS)
    served = light.guarded(mask_operators=True)
    shown = json.loads(served.get(f"/api/jobs/{old.id}", token=OPERATOR).json["payload"])
    assert "t0p" not in str(shown)
    edited = json.dumps({**shown, **change})
    answer = served.act("enqueue_edited", token=OPERATOR, ids=[old.id], payload=edited)
    jobs = [job.payload_text for job in light.q.list() if job.id != old.id]
    if made is None:
        assert (answer.status, answer.json["error"]["field"], jobs) == (400, "payload", [])
    else:
        assert [json.dumps(json.loads(text), sort_keys=True) for text in jobs] == [json.dumps({**SECRETS, **made}, sort_keys=True)]  # fmt: skip


def test_files_are_served_with_their_types_and_not_from_elsewhere(
    light: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "static"
    (folder / "js").mkdir(parents=True)
    (tmp_path / "secret.js").write_text("outside")
    types = {
        "index.html": "text/html",
        "app.css": "text/css",
        "js/main.js": "text/javascript",
        "x.svg": "image/svg+xml",
    }
    for name in types:
        (folder / name).write_text(f"{name} ☃")
    (folder / "notes.py").write_text("not for the page")
    monkeypatch.setattr(statics, "FOLDER", folder)
    served = light.serve()
    for name, kind in types.items():
        answer = served.get(f"/static/{name}")
        assert (answer.status, answer.body.decode()) == (200, f"{name} ☃")
        assert answer.headers["content-type"].partition(";")[0] == kind
        assert answer.headers["cache-control"] == "no-cache"
        again = served.ask("GET", f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
    assert served.get("/").body == served.get("/static/index.html").body
    (folder / "app.css").write_text("other")
    assert served.get("/static/app.css").body == b"other"
    long = f"/{'a' * 300}.js"
    for odd in (
        "/../secret.js",
        "/%2e%2e/secret.js",
        "//etc/passwd",
        "/none.js",
        "/",
        "/notes.py",
        "/js",
        "/a%00.js",
        long,
    ):
        assert served.get(f"/static{odd}").status == 404
