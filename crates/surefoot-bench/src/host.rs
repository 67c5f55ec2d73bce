//! What the machine says of itself and of this process, from `/proc`. It knows Linux only, and says so elsewhere.

use std::time::Duration;

use crate::Outcome;

/// Linux counts the computing time of a process in hundredths of a second, whatever the kernel's own tick.
const TICK: Duration = Duration::from_millis(10);

/// How many tasks want to run on this machine, averaged over the last minute.
pub(crate) fn load() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|line| line.split_whitespace().next().map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// How many cores this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many bytes of this process are in memory.
pub(crate) fn memory_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    resident(&status).ok_or_else(|| "no VmRSS in /proc/self/status".into())
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// How long this process has computed so far, on all of its threads; to a hundredth of a second.
pub(crate) fn computing_time() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    ticks(&stat)
        .map(|ticks| TICK * ticks)
        .ok_or_else(|| "no times in /proc/self/stat".into())
}

/// User and system time: fields 14 and 15. The second field is a name in brackets that may hold spaces.
fn ticks(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_read() {
        assert_eq!(resident("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(resident("Name:\tx\n"), None);
        assert_eq!(
            ticks("7 (a ) b) S 1 7 7 0 -1 4194304 150 0 0 0 12 30 0 0 20 0 1 0"),
            Some(42)
        );
        assert_eq!(ticks("7 (a) S"), None);
    }

    #[test]
    fn this_process_is_somewhere() {
        assert!(memory_bytes().unwrap() > 100_000);
        assert!(computing_time().unwrap() < Duration::from_secs(3600));
    }
}
