//! Who is turned away at which fill.

use super::*;
use crate::meta::Criticality::{Critical, Degradable, Optional};

#[test]
fn what_matters_least_goes_first_and_what_is_critical_never() {
    let options = ShedOptions::default();
    let shed = |taken| {
        [Optional, Degradable, Critical].map(|criticality| options.sheds(criticality, taken, 100))
    };
    let table = [
        (0, [false, false, false]),
        (79, [false, false, false]),
        (80, [true, false, false]),
        (95, [true, true, false]),
        (500, [true, true, false]),
    ];
    for (taken, expected) in table {
        assert_eq!(shed(taken), expected, "{taken}");
    }
    assert!(
        !options.sheds(Optional, 0, 0),
        "a limit of 0 does not divide"
    );
}

#[test]
fn a_wrong_order_is_told() {
    let wrong = ShedOptions {
        optional_at: 0.9,
        degradable_at: f64::NAN,
    };
    assert_eq!(wrong.validate().len(), 1);
    assert_eq!(
        ShedOptions {
            optional_at: 0.9,
            degradable_at: 0.1
        }
        .validate()
        .len(),
        1
    );
}
