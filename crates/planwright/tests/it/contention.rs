//! Sixteen writers, four runs, two users with editors and readers in one workspace. `cargo xtask contend` does it for longer.

use std::path::Path;
use std::time::Duration;

use planwright_testkit::contention::Contest;

#[test]
fn acknowledged_changes_survive_concurrent_processes() {
    let account = Contest {
        binary: Path::new(env!("CARGO_BIN_EXE_planwright")),
        duration: Duration::from_secs(6),
        seed: 20261116,
    }
    .run()
    .expect("a workspace");
    assert!(account.is_clean(), "{account}");
    assert!(
        account.n_acknowledged > 0 && account.n_runs > 0 && account.n_by_hand > 0,
        "{account}"
    );
}
