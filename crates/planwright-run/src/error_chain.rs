//! Errors as text, with their causes.

use std::error::Error;

pub fn with_causes(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("{what}")]
    struct ErrorLayer {
        what: &'static str,
        #[source]
        cause: Option<Box<ErrorLayer>>,
    }

    #[test]
    fn every_cause_is_printed_once() {
        let inner = Box::new(ErrorLayer {
            what: "the disk is full",
            cause: None,
        });
        let outer = ErrorLayer {
            what: "the plan cannot be written",
            cause: Some(Box::new(ErrorLayer {
                what: "its file",
                cause: Some(inner),
            })),
        };
        assert_eq!(
            with_causes(&outer),
            "the plan cannot be written: its file: the disk is full"
        );
        assert_eq!(with_causes(&io::Error::other("alone")), "alone");
    }
}
