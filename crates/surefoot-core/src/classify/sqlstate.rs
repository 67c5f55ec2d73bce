//! What a SQLSTATE says about a statement or transaction. It knows the standard's classes and
//! PostgreSQL's codes; it never reads the message, which is translated and changes.

use super::Class;

/// Classifies a five-character SQLSTATE (PostgreSQL 18 documentation, appendix A).
///
/// Transient: lost connections (08), resources (53), the system under the database (58), rolled
/// back transactions (40), locks not to be had (55P03, 55006), a server that stops or starts
/// (57P01 to 57P03), sessions ended for idling (57P05, 25P03), a cancelled statement (57014, which
/// a statement time-out also raises), and a write that reached a read-only standby after a
/// fail-over (25006). Unknown: 08007 and 40003, where the server says that it does not know.
///
/// All else is permanent, with codes that nobody listed: most classes describe the statement or
/// its data, which a repetition does not change, and a dead letter is seen and can be replayed,
/// while endless repetition hides it.
#[must_use]
pub fn sqlstate(code: &str) -> Class {
    match code {
        "08007" | "40003" => Class::Unknown,
        // A protocol violation and a constraint checked at commit repeat with every attempt.
        "08P01" | "40002" => Class::Permanent,
        "25006" | "25P03" | "55006" | "55P03" => Class::Transient,
        "57014" | "57P01" | "57P02" | "57P03" | "57P05" => Class::Transient,
        _ => match (code.len(), code.get(..2)) {
            (5, Some("08" | "40" | "53" | "58")) => Class::Transient,
            _ => Class::Permanent,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_whether_to_retry() {
        use Class::{Permanent, Transient, Unknown};
        let table = [
            ("08000", Transient),
            ("08001", Transient),
            ("08004", Transient),
            ("08006", Transient),
            ("08007", Unknown),
            ("08P01", Permanent),
            ("0A000", Permanent),
            ("22001", Permanent),
            ("22P05", Permanent),
            ("23503", Permanent),
            ("23505", Permanent),
            ("25006", Transient),
            ("25P02", Permanent),
            ("25P03", Transient),
            ("28P01", Permanent),
            ("3D000", Permanent),
            ("40000", Transient),
            ("40001", Transient),
            ("40002", Permanent),
            ("40003", Unknown),
            ("40P01", Transient),
            ("42601", Permanent),
            ("42P01", Permanent),
            ("53100", Transient),
            ("53300", Transient),
            ("54001", Permanent),
            ("55000", Permanent),
            ("55006", Transient),
            ("55P03", Transient),
            ("57014", Transient),
            ("57P01", Transient),
            ("57P02", Transient),
            ("57P03", Transient),
            ("57P04", Permanent),
            ("57P05", Transient),
            ("58030", Transient),
            ("P0001", Permanent),
            ("XX000", Permanent),
            ("", Permanent),
            ("08", Permanent),
            ("é8006", Permanent),
            ("0800666", Permanent),
        ];
        for (code, class) in table {
            assert_eq!(sqlstate(code), class, "{code}");
        }
    }
}
