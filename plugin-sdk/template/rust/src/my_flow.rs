//! my_flow: counts up to the number that a run is started with, squares each number in a task of
//! its own, and adds the squares up.
//!
//!     count_up ──▶ square (map) ──▶ add_up

#[macro_use]
mod pgflow;

use pgflow::{level, Call, Failure, Module, Names, Outcome, Step};

const MOST: i64 = 1000;

/// A retry would not help: the input stays what it is.
fn refuse<T>(why: &str) -> Result<T, Failure> {
    Err(Failure::Permanent(why.to_string()))
}

/// A whole number of at most MOST, either sign.
fn number(json: &str) -> Option<i64> {
    json.trim().parse().ok().filter(|n| (-MOST..=MOST).contains(n))
}

/// The run's input: a number. Gives [1, 2, ..., n].
fn count_up(call: &Call) -> Outcome {
    match number(call.flow_input()) {
        Some(n) if n > 0 => {
            let numbers: Vec<String> = (1..=n).map(|i| i.to_string()).collect();
            Ok(format!("[{}]", numbers.join(",")))
        }
        _ => refuse("start the run with a whole number from 1 to 1000"),
    }
}

/// One element of what count_up gave.
fn square(call: &Call) -> Outcome {
    match number(call.input()) {
        Some(n) => Ok((n * n).to_string()),
        None => refuse("not a number of count_up"),
    }
}

/// The numbers of {"square": [1, 4, ...]}: one member, whose elements are numbers.
fn squares(json: &str) -> Option<Vec<i64>> {
    let member = json.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let list = member.strip_prefix("\"square\"")?.trim().strip_prefix(':')?.trim();
    let items = list.strip_prefix('[')?.strip_suffix(']')?.trim();
    if items.is_empty() {
        return Some(Vec::new());
    }
    items.split(',').map(|item| item.trim().parse().ok()).collect()
}

fn add_up(call: &Call) -> Outcome {
    match squares(call.input()) {
        Some(squares) => {
            let sum: i64 = squares.iter().sum();
            call.log(level::INFO, &format!("the sum is {}", sum));
            Ok(sum.to_string())
        }
        None => refuse("not what square gave"),
    }
}

static AFTER_COUNT_UP: Names<1> = Names::of([text!("count_up")]);
static AFTER_SQUARE: Names<1> = Names::of([text!("square")]);

static STEPS: [Step; 3] = [
    // A contract says what goes in and out. Another meaning is another text, and another slug.
    Step::new(text!("count_up"), handler!(count_up)).contract(text!("n -> [1..n]")),
    Step::new(text!("square"), handler!(square)).map().after(&AFTER_COUNT_UP).contract(text!("n -> n * n")),
    Step::new(text!("add_up"), handler!(add_up)).after(&AFTER_SQUARE).contract(text!("[n] -> sum")),
];

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static pgflow_module_v1: Module =
    Module::new(text!("my_flow_v1"), &STEPS).alias(text!("my_flow")).version(text!("1.0.0"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_square_gave() {
        assert_eq!(squares("{\"square\": [1, 4, 9]}"), Some(vec![1, 4, 9]));
        assert_eq!(squares("{\"square\": []}"), Some(vec![]));
        assert_eq!(squares("{\"cube\": [1]}"), None);
    }

    #[test]
    fn takes_numbers_in_range_only() {
        assert_eq!(number("-7"), Some(-7));
        assert_eq!(number("1001"), None);
        assert_eq!(number("\"three\""), None);
    }
}
