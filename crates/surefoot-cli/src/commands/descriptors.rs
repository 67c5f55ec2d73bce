//! How many connections the process may hold, by its limit of open files. Clients that hold on to theirs must not take the
//! descriptors that a request needs to get to its service.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use surefoot_http::ProxyOptions;

/// What is left for the database, the admin address and the logs.
const SPARE: u64 = 128;

/// Of a connection: the client's, and the one to the service.
const PER_CONNECTION: u64 = 2;

/// The same options, with as many connections of clients as the limit of open files bears, after it was raised as far as this
/// process may.
pub(super) fn bounded(options: ProxyOptions) -> ProxyOptions {
    let asked = options.connections_max;
    let connections_max = fitting(raised(), asked);
    if connections_max < asked {
        tracing::warn!(
            asked,
            connections_max,
            "the limit of open files bears fewer connections than connections_max; raise it, as with: ulimit -n 16384"
        );
    }
    ProxyOptions {
        connections_max,
        ..options
    }
}

/// The limit of open files; `None` where there is none.
fn raised() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, most) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

fn fitting(limit: Option<u64>, asked: usize) -> usize {
    let Some(limit) = limit else { return asked };
    let fits = (limit.saturating_sub(SPARE) / PER_CONNECTION).max(1);
    usize::try_from(fits).map_or(asked, |fits| fits.min(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_clients_leave_descriptors_for_those_who_are_served() {
        for (limit, asked, expected) in [
            (None, 4096, 4096),
            (Some(20_000), 4096, 4096),
            (Some(1024), 4096, 448),
            (Some(1024), 10, 10),
            (Some(256), 4096, 64),
            (Some(64), 4096, 1),
            (Some(u64::MAX), 4096, 4096),
        ] {
            assert_eq!(fitting(limit, asked), expected, "{limit:?}");
        }
    }
}
