//! Tests that dependencies have permissive licences, and that banned crates are not among them.

use std::process::Command;

/// Licences that may be combined with ours. An expression is fine if one of its alternatives is.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "MIT-0",
    "CC0-1.0",
    "BSL-1.0",
];

/// Banned crates, with the reason.
const BANNED: &[(&str, &str)] = &[
    ("serde_yaml", "deprecated; YAML is read from granit-parser's events"),
    ("serde_yml", "unsound and unmaintained"),
    ("openssl-sys", "no HTTP stack is wanted"),
    ("aws-lc-sys", "a sixth of a release build"),
];

#[test]
fn every_dependency_is_allowed() {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .expect("cargo starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 50, "{} packages", packages.len());
    let mut problems = Vec::new();
    for package in packages {
        let (name, licence) = (
            package["name"].as_str().unwrap_or(""),
            package["license"].as_str().unwrap_or(""),
        );
        if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            problems.push(format!("{name} is banned: {reason}"));
        }
        if !is_allowed(licence) {
            problems.push(format!("{name} has the licence `{licence}`"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Every part of an `AND` must be allowed, and one part of an `OR`.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    let any = |part: &str| part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim()));
    !plain.is_empty() && plain.split(" AND ").all(any)
}
