//! Secrets by shape: one table of known kinds, and the rules that distinguish them from ordinary words.
//!
//! A rule sees a bounded window after its anchor, so that the result does not depend on how a stream is cut.

use CharClass::{Alnum, Base64, Base64Url, Dotted, Hex, Ident, Token68, Upper};
use ShapeRule::{Authorization, Bearer, Exact, Jwt, MixedWord, Named, NamedWord, PrivateKey, UrlPassword, Word};

/// A window ends before its rule could decide: more bytes may come.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowTooShort;

/// The bytes from an anchor on, and those before it.
#[derive(Debug)]
pub(super) struct Window<'b> {
    pub(super) before: &'b [u8],
    pub(super) bytes: &'b [u8],
    pub(super) is_last: bool,
}

impl Window<'_> {
    /// Returns a byte; none after the end of the stream.
    pub(super) fn at(&self, at: usize) -> Result<Option<u8>, WindowTooShort> {
        match self.bytes.get(at) {
            Some(&byte) => Ok(Some(byte)),
            None if self.is_last => Ok(None),
            None => Err(WindowTooShort),
        }
    }

    /// Returns the number of consecutive characters of a set, up to a limit.
    pub(super) fn run(&self, from: usize, chars: CharClass, most: usize) -> Result<usize, WindowTooShort> {
        let rest = self.bytes.get(from..).unwrap_or_default();
        let n_chars = rest.iter().take(most).take_while(|&&byte| chars.has(byte)).count();
        match n_chars < most && n_chars == rest.len() && !self.is_last {
            true => Err(WindowTooShort),
            false => Ok(n_chars),
        }
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &[u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Returns whether a word may start here. The end of an escape, as of a colour or of a line break in JSON, is no part of a word.
    pub(super) fn begins_word(&self) -> bool {
        match *self.before {
            [] => true,
            [.., last] if !(last.is_ascii_alphanumeric() || last == b'_') => true,
            [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
            [.., b'[' | b'0'..=b'9', b'm'] => self.before.contains(&b'['),
            [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
            [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(u8::is_ascii_hexdigit),
            _ => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct SecretShape {
    pub(super) name: &'static str,
    pub(super) anchors: &'static [&'static str],
    rule: ShapeRule,
}

/// The rule that distinguishes the text after an anchor from ordinary words.
#[derive(Clone, Copy, Debug)]
enum ShapeRule {
    /// The anchor starts a word with at least this many more characters.
    Word(CharClass, usize),
    /// Such a word, with a digit, or with lower-case and capital letters, in it.
    MixedWord(CharClass, usize),
    /// The anchor and exactly this many characters are a word.
    Exact(CharClass, usize),
    /// The anchor names a value, which follows a separator and has exactly this many characters.
    Named(CharClass, usize),
    /// The anchor names a value of at least this many characters.
    NamedWord(CharClass, usize),
    Jwt,
    Bearer,
    Authorization,
    UrlPassword,
    PrivateKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharClass {
    Alnum,
    /// Capital letters and digits.
    Upper,
    Hex,
    /// Letters, digits and `_`.
    Ident,
    /// Letters, digits, `-` and `_`.
    Base64Url,
    /// Letters, digits, `-`, `_` and `.`.
    Dotted,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    Token68,
}

impl CharClass {
    pub(super) fn has(self, byte: u8) -> bool {
        let more: &[u8] = match self {
            CharClass::Alnum => b"",
            CharClass::Upper => return byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            CharClass::Hex => return byte.is_ascii_hexdigit(),
            CharClass::Ident => b"_",
            CharClass::Base64Url => b"-_",
            CharClass::Dotted => b"-_.",
            CharClass::Base64 => b"+/=",
            CharClass::Token68 => b"-._~+/=",
        };
        byte.is_ascii_alphanumeric() || more.contains(&byte)
    }
}

const fn shape(name: &'static str, anchors: &'static [&'static str], rule: ShapeRule) -> SecretShape {
    SecretShape { name, anchors, rule }
}

/// The known kinds. If two match at one place, the first one wins.
pub(super) static SHAPES: &[SecretShape] = &[
    // Model vendors.
    shape("anthropic key", &["sk-ant-"], Word(Base64Url, 16)),
    shape("openrouter key", &["sk-or-v1-"], Word(Alnum, 20)),
    shape(
        "openai key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        MixedWord(Base64Url, 20),
    ),
    shape("langfuse key", &["sk-lf-"], MixedWord(Base64Url, 20)),
    // OpenAI's older keys, and those of vendors that follow its format.
    shape("api key", &["sk-"], MixedWord(Alnum, 20)),
    shape("groq key", &["gsk_"], MixedWord(Alnum, 40)),
    shape("xai key", &["xai-"], MixedWord(Alnum, 40)),
    shape("perplexity key", &["pplx-"], MixedWord(Alnum, 40)),
    shape("cerebras key", &["csk-"], MixedWord(Alnum, 40)),
    shape("nvidia key", &["nvapi-"], MixedWord(Base64Url, 40)),
    shape("huggingface token", &["hf_"], MixedWord(Alnum, 30)),
    shape("replicate token", &["r8_"], MixedWord(Alnum, 36)),
    shape("tavily key", &["tvly-"], MixedWord(Base64Url, 20)),
    // Clouds.
    shape("aws access key id", &["AKIA", "ASIA", "ABIA", "ACCA"], Exact(Upper, 16)),
    shape(
        "aws secret key",
        &[
            "aws_secret_access_key",
            "AWS_SECRET_ACCESS_KEY",
            "SecretAccessKey",
            "secretAccessKey",
            "aws_secret_key",
            "AWS_SECRET_KEY",
        ],
        Named(Base64, 40),
    ),
    shape(
        "aws session token",
        &["aws_session_token", "AWS_SESSION_TOKEN"],
        NamedWord(Base64, 80),
    ),
    shape("google api key", &["AIza"], Word(Base64Url, 35)),
    shape("google access token", &["ya29."], MixedWord(Base64Url, 20)),
    shape("google client secret", &["GOCSPX-"], Word(Base64Url, 20)),
    shape("azure storage key", &["AccountKey="], Word(Base64, 60)),
    shape("digitalocean token", &["dop_v1_", "doo_v1_", "dor_v1_"], Word(Hex, 40)),
    shape("databricks token", &["dapi"], Exact(Hex, 32)),
    shape("vault token", &["hvs.", "hvb."], MixedWord(Base64Url, 24)),
    // Code hosts and registries.
    shape(
        "github token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        Word(Ident, 30),
    ),
    shape("github token", &["github_pat_"], Word(Ident, 30)),
    shape(
        "gitlab token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-",
        ],
        Word(Base64Url, 20),
    ),
    shape("npm token", &["npm_"], Word(Alnum, 36)),
    shape("npm token", &["_authToken="], Word(Token68, 8)),
    shape("pypi token", &["pypi-AgE"], Word(Base64Url, 30)),
    shape("docker token", &["dckr_pat_", "dckr_oat_"], Word(Base64Url, 20)),
    // Services.
    shape(
        "slack token",
        &[
            "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xoxc-", "xoxd-", "xapp-",
        ],
        MixedWord(Dotted, 20),
    ),
    shape("slack webhook", &["hooks.slack.com/services/"], Word(Base64, 20)),
    shape(
        "stripe key",
        &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"],
        Word(Alnum, 16),
    ),
    shape("sendgrid key", &["SG."], MixedWord(Dotted, 60)),
    shape(
        "shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        Word(Hex, 32),
    ),
    shape("linear key", &["lin_api_", "lin_oauth_"], Word(Alnum, 32)),
    shape("notion token", &["ntn_"], MixedWord(Alnum, 40)),
    shape("atlassian token", &["ATATT3", "ATCTT3"], Word(Token68, 50)),
    // Of any vendor.
    shape("age secret key", &["AGE-SECRET-KEY-1"], Word(Upper, 50)),
    shape("json web token", &["eyJ"], Jwt),
    shape(
        "api key",
        &["x-api-key", "X-Api-Key", "X-API-Key", "X-API-KEY"],
        NamedWord(Token68, 16),
    ),
    shape(
        "credentials",
        &["authorization", "Authorization", "AUTHORIZATION"],
        Authorization,
    ),
    shape("bearer token", &["bearer ", "Bearer ", "BEARER "], Bearer),
    shape("password", &["://"], UrlPassword),
    shape("private key", &["-----BEGIN "], PrivateKey),
];

/// Returns the names of the kinds, each once, in the order of the table.
pub fn shape_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for shape in SHAPES {
        if !names.contains(&shape.name) {
            names.push(shape.name);
        }
    }
    names
}

/// A secret in a window: its bytes, and the part after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) rest: SecretEnd,
}

/// The part of a secret after the examined window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretEnd {
    Nothing,
    Run(CharClass),
    PrivateKey(KeyLines),
}

const WORD_WINDOW: usize = 128;

/// The longest header of a token in JSON's web format.
const MAX_JWT_HEADER: usize = 2048;

/// The longest part of a URL before its host.
const MAX_USER_INFO: usize = 300;

/// The longest separator between a name and its value: quotes, escapes, spaces.
const MAX_SEPARATOR: usize = 12;

/// How far after its first line the key of a private key may start: some have headers.
const KEY_WINDOW: usize = 400;

/// How many consecutive characters identify a private key.
const MIN_KEY_RUN: usize = 24;

impl SecretShape {
    /// Returns the secret whose anchor is at the start of a window; none if it is none.
    pub(super) fn find(&self, window: &Window<'_>, n_anchor: usize) -> Result<Option<Secret>, WindowTooShort> {
        if self.is_word() && !window.begins_word() {
            return Ok(None);
        }
        match self.rule {
            ShapeRule::Word(chars, least) => word(window, n_anchor, chars, least, |_| true),
            ShapeRule::MixedWord(chars, least) => word(window, n_anchor, chars, least, is_mixed),
            ShapeRule::Exact(chars, n) => {
                let n_chars = window.run(n_anchor, chars, n + 1)?;
                let is_over = match window.at(n_anchor + n)? {
                    Some(next) => !(next.is_ascii_alphanumeric() || next == b'_'),
                    None => true,
                };
                Ok((n_chars == n && is_over).then_some(Secret {
                    start: 0,
                    end: n_anchor + n,
                    rest: SecretEnd::Nothing,
                }))
            }
            ShapeRule::Named(chars, n) => named(window, n_anchor, chars, |n_chars| n_chars == n),
            ShapeRule::NamedWord(chars, least) => named(window, n_anchor, chars, |n_chars| n_chars >= least),
            ShapeRule::Jwt => jwt(window),
            ShapeRule::Bearer => bearer(window, n_anchor),
            ShapeRule::Authorization => authorization(window, n_anchor),
            ShapeRule::UrlPassword => url_password(window, n_anchor),
            ShapeRule::PrivateKey => private_key(window, n_anchor),
        }
    }

    /// Returns whether the anchor is the start of a word, and not a part of one.
    fn is_word(&self) -> bool {
        match self.rule {
            ShapeRule::Word(..)
            | ShapeRule::MixedWord(..)
            | ShapeRule::Exact(..)
            | ShapeRule::Jwt
            | ShapeRule::Bearer => {
                // `:_authToken=` and `;AccountKey=` are identified by their names.
                !self.anchors.iter().any(|anchor| anchor.ends_with(['=', '/']))
            }
            ShapeRule::Named(..)
            | ShapeRule::NamedWord(..)
            | ShapeRule::Authorization
            | ShapeRule::UrlPassword
            | ShapeRule::PrivateKey => false,
        }
    }
}

fn word(
    window: &Window<'_>,
    n_anchor: usize,
    chars: CharClass,
    least: usize,
    fits: fn(&[u8]) -> bool,
) -> Result<Option<Secret>, WindowTooShort> {
    let n_chars = window.run(n_anchor, chars, WORD_WINDOW)?;
    let body = window.slice(n_anchor, n_anchor + n_chars);
    Ok((n_chars >= least && fits(body)).then_some(Secret {
        start: 0,
        end: n_anchor + n_chars,
        rest: SecretEnd::Run(chars),
    }))
}

fn is_mixed(body: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| body.iter().any(is);
    has(u8::is_ascii_digit) || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// Returns where the value after a name and its separator starts; none without a separator.
fn value_start(window: &Window<'_>, from: usize) -> Result<Option<usize>, WindowTooShort> {
    let mut at = from;
    let mut separates = false;
    while at < from + MAX_SEPARATOR {
        match window.at(at)? {
            Some(b':' | b'=') => separates = true,
            Some(b'"' | b'\'' | b'\\' | b' ' | b'\t' | b'>') => {}
            _ => break,
        }
        at += 1;
    }
    Ok(separates.then_some(at))
}

fn named(
    window: &Window<'_>,
    n_anchor: usize,
    chars: CharClass,
    fits: impl Fn(usize) -> bool,
) -> Result<Option<Secret>, WindowTooShort> {
    let Some(start) = value_start(window, n_anchor)? else {
        return Ok(None);
    };
    let n_chars = window.run(start, chars, WORD_WINDOW)?;
    let is_mixed = is_mixed(window.slice(start, start + n_chars));
    Ok((fits(n_chars) && is_mixed).then_some(Secret {
        start,
        end: start + n_chars,
        rest: SecretEnd::Run(chars),
    }))
}

/// Three parts between dots, of which the first two are JSON objects.
fn jwt(window: &Window<'_>) -> Result<Option<Secret>, WindowTooShort> {
    const LEAST: usize = 10;
    let n_header = window.run(0, CharClass::Base64Url, MAX_JWT_HEADER)?;
    if n_header < LEAST || window.at(n_header)? != Some(b'.') {
        return Ok(None);
    }
    let start = n_header + 1;
    let n_claims = window.run(start, CharClass::Base64Url, LEAST)?;
    let claims = window.slice(start, start + n_claims);
    let is_object = claims.starts_with(b"eyJ") || claims.starts_with(b"ew");
    Ok((n_claims >= LEAST && is_object).then_some(Secret {
        start: 0,
        end: start + n_claims,
        rest: SecretEnd::Run(CharClass::Dotted),
    }))
}

/// A token after the word `Bearer`, which is also an ordinary word.
fn bearer(window: &Window<'_>, n_anchor: usize) -> Result<Option<Secret>, WindowTooShort> {
    let n_chars = window.run(n_anchor, CharClass::Token68, WORD_WINDOW)?;
    let token = window.slice(n_anchor, n_anchor + n_chars);
    let n_digits = token.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_token = n_chars >= 16 && n_digits >= 2 || n_chars >= 40;
    Ok(is_token.then_some(Secret {
        start: n_anchor,
        end: n_anchor + n_chars,
        rest: SecretEnd::Run(CharClass::Token68),
    }))
}

/// The header of a request: a scheme and its value.
fn authorization(window: &Window<'_>, n_anchor: usize) -> Result<Option<Secret>, WindowTooShort> {
    let Some(at) = value_start(window, n_anchor)? else {
        return Ok(None);
    };
    let n_scheme = window.run(at, CharClass::Alnum, 16)?;
    let scheme = window.slice(at, at + n_scheme).to_ascii_lowercase();
    if window.at(at + n_scheme)? != Some(b' ') {
        return Ok(None);
    }
    let start = at + n_scheme + 1;
    let n_chars = window.run(start, CharClass::Token68, WORD_WINDOW)?;
    let token = window.slice(start, start + n_chars);
    let has_digit = token.iter().any(u8::is_ascii_digit);
    let is_secret = match scheme.as_slice() {
        b"basic" => n_chars >= WORD_WINDOW || is_user_and_password(token),
        b"bearer" | b"token" | b"apikey" | b"key" => n_chars >= 8 && has_digit || n_chars >= 24,
        b"negotiate" | b"ntlm" => n_chars >= 24,
        _ => false,
    };
    Ok(is_secret.then_some(Secret {
        start,
        end: start + n_chars,
        rest: SecretEnd::Run(CharClass::Token68),
    }))
}

/// Returns whether base64 decodes to a name, a colon and more.
fn is_user_and_password(token: &[u8]) -> bool {
    let sextet = |byte: u8| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let end = token.iter().position(|&byte| byte == b'=').unwrap_or(token.len());
    let Some(sextets) = token
        .iter()
        .take(end)
        .map(|&byte| sextet(byte))
        .collect::<Option<Vec<u32>>>()
    else {
        return false;
    };
    let bytes: Vec<u8> = sextets
        .chunks(4)
        .flat_map(|group| {
            let bits = (0..4).fold(0, |bits, ix| bits << 6 | group.get(ix).copied().unwrap_or(0));
            let n_bytes = group.len().saturating_sub(1);
            [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]
                .into_iter()
                .take(n_bytes)
        })
        .collect();
    let is_text = bytes.iter().all(|byte| !byte.is_ascii_control());
    is_text && bytes.contains(&b':') && std::str::from_utf8(&bytes).is_ok()
}

/// `scheme://user:password@host`. A variable or a placeholder in place of the password does not count.
fn url_password(window: &Window<'_>, n_anchor: usize) -> Result<Option<Secret>, WindowTooShort> {
    let mut colon = None;
    let mut end = None;
    for at in n_anchor..n_anchor + MAX_USER_INFO {
        match window.at(at)? {
            Some(b':') if colon.is_none() => colon = Some(at),
            Some(b'@') => end = Some(at),
            None | Some(b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'(' | b')' | b'[' | b']') => {
                break;
            }
            Some(b'{' | b'}' | b'|' | b',' | b';') => break,
            Some(byte) if byte.is_ascii_whitespace() || byte.is_ascii_control() => break,
            Some(_) => {}
        }
    }
    let (Some(colon), Some(end)) = (colon, end) else {
        return Ok(None);
    };
    let start = colon + 1;
    let password = window.slice(start, end);
    // `$PASSWORD`, `***`, `%s`
    let is_left_out = password.starts_with(b"$") || password.len() < 4 && password.starts_with(b"%");
    let is_left_out = is_left_out || password.iter().all(|byte| b"*.xX".contains(byte));
    Ok((colon < end && !is_left_out).then_some(Secret {
        start,
        end,
        rest: SecretEnd::Nothing,
    }))
}

/// The whole block of a private key, with its first and last line.
fn private_key(window: &Window<'_>, n_anchor: usize) -> Result<Option<Secret>, WindowTooShort> {
    let is_label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let mut at = n_anchor;
    while at < n_anchor + 40 && window.at(at)?.is_some_and(is_label) {
        at += 1;
    }
    let label = window.slice(n_anchor, at);
    let is_private = label.windows(11).any(|part| part == b"PRIVATE KEY");
    for dash in at..at + 5 {
        if !is_private || window.at(dash)? != Some(b'-') {
            return Ok(None);
        }
    }
    // A key has a long run of characters; a sentence about keys has none.
    let mut n_row = 0;
    let mut lines = KeyLines::default();
    let start = at + 5;
    for at in start..start + KEY_WINDOW {
        let Some(byte) = window.at(at)? else { break };
        if !lines.takes(byte) {
            break;
        }
        n_row = if CharClass::Base64.has(byte) { n_row + 1 } else { 0 };
        if n_row >= MIN_KEY_RUN {
            return Ok(Some(Secret {
                start: 0,
                end: at + 1,
                rest: SecretEnd::PrivateKey(lines),
            }));
        }
    }
    Ok(None)
}

const MAX_KEY_BYTES: u32 = 64 * 1024;

/// The lines of a private key, up to the end of its last one: as in a file, indented, numbered, or within JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyLines {
    n_bytes: u32,
    n_dashes: u32,
    is_in_last_line: bool,
    is_over: bool,
    /// The two bytes before, the newest last.
    before: [u8; 2],
}

impl KeyLines {
    /// Takes the next byte. Returns whether it belongs to the key.
    pub(super) fn takes(&mut self, byte: u8) -> bool {
        self.n_bytes += 1;
        if self.is_over || self.n_bytes > MAX_KEY_BYTES || !self.may_have(byte) {
            return false;
        }
        self.n_dashes = if byte == b'-' { self.n_dashes + 1 } else { 0 };
        if self.n_dashes == 5 {
            self.is_over = self.is_in_last_line;
            self.is_in_last_line = true;
        }
        self.before = [self.before[1], byte];
        true
    }

    fn may_have(&self, byte: u8) -> bool {
        let [before, last] = self.before;
        match byte {
            b' ' if self.is_in_last_line => true,
            // A space between words ends the block; next to a line number or a margin it does not.
            b' ' => {
                let is_escape = before == b'\\' && matches!(last, b'n' | b'r' | b't');
                is_escape
                    || matches!(
                        last,
                        0 | b' ' | b'\t' | b'\n' | b'\r' | b':' | b',' | b'>' | b'|' | b'+' | b'#' | 0x80..
                    )
            }
            b'\n' | b'\r' | b'\t' | b'\\' | b'-' | b':' | b',' | b'|' | b'>' | b'.' | b'_' | b'#' => true,
            byte => CharClass::Base64.has(byte) || !byte.is_ascii(),
        }
    }
}
