//! `[dependency.NAME]`: a service that is called.

use super::job::{headers, waive};
use super::pattern;
use super::policy;
use super::shape::{Key, Shape, Table};
use crate::config::answers::OF_A_DEPENDENCY;
use crate::config::duration::written;
use crate::config::policy::{ATTEMPT_TIMEOUT, CONNECT_TIMEOUT};

pub(super) fn key() -> Key {
    let base_url = Key::new(
        "base_url",
        pattern::filled("^https?:"),
        "Where the service is: an http or https URL without user, password, query or fragment. `${NAME}` is filled from the \
         environment.",
    );
    let mut keys = vec![
        base_url.required(),
        Key::new(
            "attempt_timeout",
            Shape::time(),
            "Short for `timeout.attempt`.",
        )
        .or_time(ATTEMPT_TIMEOUT),
        Key::new(
            "connect_timeout",
            Shape::time(),
            format!(
                "Short for `timeout.connect`. Without it {}, or half of the attempt time-out if that is less.",
                written(CONNECT_TIMEOUT)
            ),
        ),
        headers("Sent with each call."),
        waive("service", &OF_A_DEPENDENCY),
    ];
    keys.extend(policy::keys());
    let table = Table::new(
        "A service that is called, with the policy that protects its calls.",
        keys,
    );
    Key::new(
        "dependency",
        Shape::named(pattern::name(), Shape::Table(table)),
        "Services that are called, by name: `[dependency.NAME]`.",
    )
}
