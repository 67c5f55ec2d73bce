//! The binary `surefoot`: it reads its arguments and hands over. It must never do anything itself.

mod config;
mod http_kind;

fn main() {
    println!(
        "{:?}",
        config::load(std::path::Path::new("surefoot.toml")).is_ok()
    );
}
