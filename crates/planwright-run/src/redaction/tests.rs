//! Tests of the table of shapes, the forms of values, and streams that are cut anywhere.

use super::*;

const VALUES: [(&str, &str); 5] = [
    ("API_KEY", "abcdefgh-key"),
    ("My_Token", "abcdefgh"),
    ("DB_PASSWORD", "pass/with\"quote\\and\nline"),
    ("LONG_SECRET", "correct-horse-battery-staple"),
    ("ODD_SECRET", "pässwörd€uro"),
];

fn shapes_only() -> Redaction {
    Redaction::of([])
}

#[track_caller]
fn check(redaction: &Redaction, text: &str, expected: &str) {
    assert_eq!(redaction.text(text).as_str(), expected);
    // The result is the same wherever the stream is cut, and redacting it again changes nothing.
    for cut in 0..=text.len() {
        let mut stream = redaction.stream();
        let mut out = stream.push(&text.as_bytes()[..cut]).into_owned();
        out.extend(stream.push(&text.as_bytes()[cut..]).into_owned());
        out.extend(stream.finish());
        assert_eq!(String::from_utf8_lossy(&out), expected, "cut at {cut}");
    }
    let mut stream = redaction.stream();
    let mut out = Vec::new();
    for byte in text.bytes() {
        out.extend(stream.push(&[byte]).into_owned());
    }
    out.extend(stream.finish());
    assert_eq!(String::from_utf8_lossy(&out), expected, "byte by byte");
    assert_eq!(redaction.text(expected).as_str(), expected, "twice");
}

/// A text with a secret of each kind, as `before «secret» after`.
fn examples() -> Vec<(&'static str, String)> {
    let word = |n: usize| {
        "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xYzCaB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xYzCaB3dE5".repeat(5)[..n].to_owned()
    };
    let hex = |n: usize| "0123456789abcdef".repeat(8)[..n].to_owned();
    let joined = |prefix: &str, body: String| format!("key «{prefix}{body}», next");
    vec![
        ("anthropic key", joined("sk-ant-api03-", word(40) + "-_" + &word(20) + "AA")),
        ("openrouter key", joined("sk-or-v1-", hex(64))),
        ("openai key", joined("sk-proj-", word(30) + "_" + &word(20))),
        ("openai key", joined("sk-svcacct-", word(30))),
        ("langfuse key", joined("sk-lf-", "1f0c6d3e-1111-4222-8333-944445555666".to_owned())),
        ("api key", joined("sk-", word(48))),
        ("api key", joined("sk-", hex(32))),
        ("groq key", joined("gsk_", word(52))),
        ("xai key", joined("xai-", word(80))),
        ("perplexity key", joined("pplx-", word(48))),
        ("cerebras key", joined("csk-", word(48))),
        ("nvidia key", joined("nvapi-", word(60))),
        ("huggingface token", joined("hf_", word(34))),
        ("replicate token", joined("r8_", word(37))),
        ("tavily key", joined("tvly-", word(32))),
        ("aws access key id", joined("AKIA", "IOSFODNN7EXAMPLE".to_owned())),
        ("aws access key id", joined("ASIA", "Y34FZKBOKMUTVV7A".to_owned())),
        (
            "aws secret key",
            "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»\n".to_owned(),
        ),
        (
            "aws secret key",
            r#"{"SecretAccessKey": "«wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»"}"#.to_owned(),
        ),
        ("aws session token", format!("AWS_SESSION_TOKEN=«{}==» x", word(120))),
        ("google api key", joined("AIza", "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY".to_owned())),
        ("google access token", joined("ya29.", word(60))),
        ("google client secret", joined("GOCSPX-", word(28))),
        ("azure storage key", format!("AccountName=a;«AccountKey={}==»;x", word(86))),
        ("digitalocean token", joined("dop_v1_", hex(64))),
        ("databricks token", joined("dapi", hex(32))),
        ("vault token", joined("hvs.", word(40))),
        ("github token", joined("ghp_", word(36))),
        ("github token", joined("gho_", word(36))),
        ("github token", joined("ghs_", word(36))),
        ("github token", joined("github_pat_", word(22) + "_" + &word(59))),
        ("gitlab token", joined("glpat-", word(20))),
        ("npm token", joined("npm_", word(36))),
        ("npm token", "//packages.example.org/:«_authToken=11112222-3333-4444-5555-666677778888»\n".to_owned()),
        ("pypi token", joined("pypi-AgEIcHlwaS5vcmc", word(60))),
        ("docker token", joined("dckr_pat_", word(27))),
        ("slack token", joined("xoxb-", format!("123456789012-1234567890123-{}", word(24)))),
        ("slack token", joined("xapp-1-", format!("A0123456789-1234567890123-{}", hex(64)))),
        (
            "slack webhook",
            format!("https://«hooks.slack.com/services/T01234567/B01234567/{}» x", word(24)),
        ),
        ("stripe key", joined("sk_live_", word(24))),
        ("stripe key", joined("rk_test_", word(24))),
        ("sendgrid key", joined("SG.", word(22) + "." + &word(43))),
        ("shopify token", joined("shpat_", hex(32))),
        ("linear key", joined("lin_api_", word(40))),
        ("notion token", joined("ntn_", word(46))),
        ("atlassian token", joined("ATATT3", word(100) + "=1A2B3C4D")),
        ("age secret key", joined("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE".to_owned())),
        (
            "json web token",
            "token «eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U» x"
                .to_owned(),
        ),
        ("api key", "curl -H 'x-api-key: «0123456789abcdef0123»'".to_owned()),
        ("credentials", "Authorization: Bearer «abcd1234efgh»\r\n".to_owned()),
        ("credentials", r#"{"authorization":"Basic «dXNlcjpwYXNz»"}"#.to_owned()),
        ("credentials", "Authorization: token «0123456789abcdef0123456789abcdef01234567»".to_owned()),
        ("bearer token", "with Bearer «abcdefghijklmnop0123456789»".to_owned()),
        ("bearer token", format!("Bearer «{}», again", word(300))),
        ("password", "postgres://app:«hunter2»@db.example.org:5432/app".to_owned()),
        ("password", "redis://:«p@ss»@127.0.0.1/0".to_owned()),
        ("password", r#"{"remote":"https://x-access-token:«v1.abc»@github.com/a/b.git"}"#.to_owned()),
        ("private key", format!("«{}»\nnext line", private_key("\n", "RSA PRIVATE KEY"))),
        ("private key", format!("«{}»\n", private_key("\n    ", "OPENSSH PRIVATE KEY"))),
        ("private key", format!("\"«{}»\\n\"", private_key("\\n", "PRIVATE KEY"))),
        ("private key", format!("     1→«{}»\n", private_key("\n     2→", "EC PRIVATE KEY"))),
        ("private key", format!("+«{}»\n", private_key("\n+", "ENCRYPTED PRIVATE KEY"))),
        ("private key", format!("«{}»\n", private_key("\r\n", "PGP PRIVATE KEY BLOCK"))),
        (
            "private key",
            format!(
                "«-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{}\n\n{}\n-----END RSA PRIVATE KEY-----»\n",
                hex(32).to_uppercase(),
                word(64)
            ),
        ),
        // Cut off by the cap of a log or a window of a tool.
        ("private key", format!("«-----BEGIN PRIVATE KEY-----\n{}\n{}\n»\"rest\"", word(64), word(64))),
    ]
}

fn private_key(line_break: &str, label: &str) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let lines = vec![line; 26].join(line_break);
    format!("-----BEGIN {label}-----{line_break}{lines}{line_break}-----END {label}-----")
}

#[test]
fn every_shape_is_found_wherever_the_stream_is_cut() {
    let redaction = shapes_only();
    for (name, example) in examples() {
        let (before, rest) = example.split_once('«').expect("a beginning");
        let (secret, after) = rest.split_once('»').expect("an end");
        let text = format!("{before}{secret}{after}");
        check(&redaction, &text, &format!("{before}[redacted: {name}]{after}"));
    }
}

#[test]
fn every_shape_of_the_table_has_an_example() {
    let examples = examples();
    for name in shape_names() {
        assert!(examples.iter().any(|(tried, _)| *tried == name), "{name}");
    }
}

#[test]
fn ordinary_text_stays() {
    let image =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==".repeat(20);
    let redaction = shapes_only();
    for text in [
        "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "pip install scikit-learn; sk-learn and sk-image-2 are names",
        "class=\"sk-fading-circle sk-circle12\" task-0123456789abcdefghijklmnop",
        "keys begin with `sk-…`, `sk-ant-…`, ghp_… or AKIA…",
        "set ANTHROPIC_API_KEY=sk-ant-... or sk-ant-xxx",
        "a bearer of bad news, the bearer understands; Bearer authentication",
        "Authorization: Bearer $TOKEN and Authorization: Bearer <token>",
        "authorization: basic understanding of the code",
        "\"Authorization\": \"Bearer \" + token",
        "headers.Authorization = bearer(tokenProvider.getAccessToken())",
        "/home/user/projects/sk-tools/src/ghp_client.rs:12:8",
        "https://example.org:8080/a@b and https://user@example.org/ and git@github.com:a/b.git",
        "postgres://$USER:$PASSWORD@localhost/db, postgres://user:***@host, https://%s:%s@host",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n-----END CERTIFICATE-----",
        "a file with `-----BEGIN PRIVATE KEY-----` in its first line, and -----END PRIVATE KEY----- in its last",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "npm_config_registry=https://packages.example.org/ npm_lifecycle_event=test",
        "hf_hub_download, r8_g8_b8, SG.NET, dapi_client, xai-sdk, gsk_buffer",
        "eyJhbGciOiJIUzI1NiJ9 is a header alone; eyJ.eyJ. is nothing",
        "AKIAIOSFODNN7EXAMPLEX, XAKIAIOSFODNN7EXAMPLE, AKIA_IOSFODNN7EXAMPL",
        "aws_secret_access_key is read from the environment",
        "sha512-9KbhgYx0i8Q0Mbd9V0s2l9Nn7hGk0M7kFSjMTe7oA2bd2tLxSTMzQkL3Zz0kJ8kYqk1vVwzFQmF0u3lFJw==",
        "data:image/png;base64,",
        "pypi-server xoxo- xapp-launcher glpat- whsec_ ya29. GOCSPX-",
    ] {
        check(&redaction, text, text);
    }
    assert_eq!(redaction.text(&image).as_str(), image);
}

#[test]
fn secrets_after_escape_sequences_are_found() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let redaction = shapes_only();
    for before in [
        "\\n",
        "\\t",
        "\u{1b}[1;31m",
        "\\u001b[32m",
        "token%3D",
        "\\u0022",
        "=",
        "\"",
    ] {
        check(
            &redaction,
            &format!("{before}{token}"),
            &format!("{before}[redacted: github token]"),
        );
    }
    check(&redaction, &format!("x{token}"), &format!("x{token}"));
}

#[test]
fn values_are_found_in_every_form() {
    let redaction = Redaction::of(VALUES);
    for (text, expected) in [
        (
            "say abcdefgh-key, abcdefgh! and abcdefg, abcdefgh-ke",
            "say [API_KEY], [My_Token]! and abcdefg, [My_Token]-ke",
        ),
        ("nothing here", "nothing here"),
        ("raw pass/with\"quote\\and\nline.", "raw [DB_PASSWORD]."),
        (r#"{"a":"pass/with\"quote\\and\nline"}"#, r#"{"a":"[DB_PASSWORD]"}"#),
        (r#"{"a":"pass\/with\"quote\\and\nline"}"#, r#"{"a":"[DB_PASSWORD]"}"#),
        (
            r#"{"a":"{\"b\":\"pass/with\\\"quote\\\\and\\nline\"}"}"#,
            r#"{"a":"{\"b\":\"[DB_PASSWORD]\"}"}"#,
        ),
        ("?p=pass%2Fwith%22quote%5Cand%0Aline&", "?p=[DB_PASSWORD]&"),
        ("?p=pass%2fwith%22quote%5cand%0aline&", "?p=[DB_PASSWORD]&"),
        ("?p=pass/with%22quote%5Cand%0Aline&", "?p=[DB_PASSWORD]&"),
        ("<b>pass/with&quot;quote\\and\nline</b>", "<b>[DB_PASSWORD]</b>"),
        (
            r#""p\u00e4ssw\u00f6rd\u20acuro" pässwörd€uro"#,
            r#""[ODD_SECRET]" [ODD_SECRET]"#,
        ),
        (
            "curl https://me:correct-horse-battery-staple@host",
            "curl https://me:[LONG_SECRET]@host",
        ),
        (
            "Authorization: Bearer correct-horse-battery-staple",
            "Authorization: Bearer [LONG_SECRET]",
        ),
    ] {
        check(&redaction, text, expected);
    }
    // `printf 'x:%s' correct-horse-battery-staple | base64`
    let text = redaction.text("eDpjb3JyZWN0LWhvcnNlLWJhdHRlcnktc3RhcGxl");
    assert!(text.contains("[LONG_SECRET]") && !text.contains("WhvcnNl"), "{text}");
}

#[test]
fn secrets_in_json_are_redacted_and_it_stays_valid() {
    let redaction = Redaction::of(VALUES);
    let hidden =
        r#"{"a": "\u0061bcdefgh-key", "b": ["x \u0067hp_0123456789abcdefghijABCDEFGHIJ012345"], "c": "a \"b\" \n"}"#;
    let shown = redaction.json(hidden);
    assert_eq!(
        shown.as_str(),
        r#"{"a": "[API_KEY]", "b": ["x [redacted: github token]"], "c": "a \"b\" \n"}"#
    );
    assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok());
    for whole in [r#"{"a": "b"}"#, "no \" json \\ at all", r#""a\"#, r#"{"k\": 1}"#, ""] {
        assert_eq!(redaction.json(whole).as_str(), whole);
    }
    // A quote of prose does not hide the string behind it.
    let torn = r#"5" disk: {"a": "\u0061bcdefgh-key"}"#;
    assert!(redaction.json(torn).contains("[API_KEY]"));
    // Many escaped quotes take no longer than other characters.
    let quotes = format!("\"{}", "\\\"".repeat(300_000));
    assert_eq!(redaction.json(&quotes).as_str(), quotes);
}

#[test]
fn buffered_output_is_bounded() {
    let redaction = Redaction::of(VALUES);
    for unit in [
        "-----BEGIN PRIVATE KEY-----",
        "https://",
        "eyJ",
        "Authorization: ",
        "abcdefgh-ke",
        "sk-",
        "AAAA",
        "\\",
        "a@:",
    ] {
        let text = unit.repeat(20_000);
        let mut stream = redaction.stream();
        let mut n_out = 0;
        for (n_in, chunk) in text.as_bytes().chunks(1000).enumerate() {
            n_out += stream.push(chunk).len();
            let n_kept = ((n_in + 1) * 1000).min(text.len()).saturating_sub(n_out);
            assert!(n_kept < 4096 || unit == "eyJ", "{unit}: {n_kept} bytes are kept");
        }
        n_out += stream.finish().len();
        assert!(n_out <= text.len() * 3, "{unit}");
    }
    // A long token is one secret, and is not kept.
    let mut stream = redaction.stream();
    let mut out = stream.push(b"ghp_").into_owned();
    for _ in 0..1000 {
        out.extend(stream.push(&[b'a'; 1000]).into_owned());
        assert!(out.len() < 100);
    }
    out.extend(stream.push(b" end").into_owned());
    out.extend(stream.finish());
    assert_eq!(String::from_utf8_lossy(&out), "[redacted: github token] end");
}

#[test]
fn invalid_utf8_is_left_unchanged() {
    let redaction = Redaction::of(VALUES);
    let bytes: Vec<u8> = (0..=255).rev().cycle().take(5000).collect();
    let mut stream = redaction.stream();
    let mut out = stream.push(&bytes).into_owned();
    out.extend(stream.finish());
    assert!(out == bytes);
}
