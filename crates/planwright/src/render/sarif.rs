//! Findings as SARIF 2.1.0, for code scanning.

use planwright_core::diagnostic::{Diagnostic, Rule, Severity};
use planwright_core::text::{LineIndex, Span};
use planwright_verbs::FileFindings;
use serde_json::{Value, json};

/// Returns a SARIF log of one run.
pub(crate) fn log(files: &[&FileFindings], rules: &[&Rule]) -> Value {
    let results: Vec<Value> = files.iter().flat_map(|file| results_of(file, rules)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "planwright",
                    "version": env!("CARGO_PKG_VERSION"),
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules.iter().map(|rule| rule_of(rule)).collect::<Vec<_>>(),
                }
            },
            "columnKind": "utf16CodeUnits",
            "results": results,
        }]
    })
}

fn rule_of(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.details},
        "helpUri": format!("{}/blob/main/docs/diagnostics.md#{}", env!("CARGO_PKG_REPOSITORY"), rule.id),
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn level(severity: Severity) -> &'static str {
    severity.as_str()
}

fn results_of<'a>(file: &'a FileFindings, rules: &'a [&Rule]) -> impl Iterator<Item = Value> + 'a {
    let index = file.source.line_index();
    file.findings.iter().map(move |diagnostic| {
        let rule_index = rules.iter().position(|rule| rule.id == diagnostic.rule.id);
        let mut text = diagnostic.message.clone();
        if !diagnostic.help.is_empty() {
            text.push_str(&format!("\n{}", diagnostic.help));
        }
        let related: Vec<Value> = diagnostic
            .related
            .iter()
            .take(100)
            .map(|related| {
                let mut place = location(&file.path, Some(related.span), &index);
                place["message"] = json!({"text": related.message});
                place
            })
            .collect();
        let mut result = json!({
            "ruleId": diagnostic.rule.id,
            "level": level(diagnostic.severity),
            "message": {"text": text},
            "locations": [location(&file.path, diagnostic.span, &index)],
            "partialFingerprints": {"planwright/v1": fingerprint(&file.path, diagnostic)},
        });
        if let Some(rule_index) = rule_index {
            result["ruleIndex"] = json!(rule_index);
        }
        if !related.is_empty() {
            result["relatedLocations"] = json!(related);
        }
        result
    })
}

fn location(path: &str, span: Option<Span>, index: &LineIndex<'_>) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(path)}});
    if let Some(span) = span {
        let (start, end) = (index.position(span.start), index.position(span.end));
        physical["region"] = json!({
            "startLine": start.line,
            "startColumn": start.utf16_column,
            "endLine": end.line,
            "endColumn": end.utf16_column,
            "byteOffset": span.start,
            "byteLength": span.len(),
        });
    }
    json!({"physicalLocation": physical})
}

/// Escapes characters that a URI must not contain; `/` separates.
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path).replace('\\', "/");
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte as char),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Returns a fingerprint that stays the same when the finding's line moves.
fn fingerprint(path: &str, diagnostic: &Diagnostic) -> String {
    let text = format!("{path}\0{}\0{}", diagnostic.rule.id, diagnostic.message);
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{digest:016x}")
}
