//! Finds tasks of an outline that wait for each other in a cycle.

/// Returns the tasks of a cycle in which each depends on the next one; none without a cycle.
pub(super) fn find_cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    // 0: not visited, 1: on the path, 2: in no cycle.
    let mut seen = vec![0u8; edges.len()];
    for first in 0..edges.len() {
        if seen.get(first) != Some(&0) {
            continue;
        }
        let mut way: Vec<(usize, usize)> = vec![(first, 0)];
        seen[first] = 1;
        while let Some(&mut (task, ref mut next)) = way.last_mut() {
            let Some(&on) = edges.get(task).and_then(|on| on.get(*next)) else {
                seen[task] = 2;
                way.pop();
                continue;
            };
            *next += 1;
            match seen.get(on) {
                Some(0) => {
                    seen[on] = 1;
                    way.push((on, 0));
                }
                Some(1) => {
                    let tasks = way.iter().map(|&(task, _)| task);
                    return Some(tasks.skip_while(|task| *task != on).collect());
                }
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::find_cycle;

    #[test]
    fn dependency_cycles_are_found() {
        assert_eq!(find_cycle(&[vec![], vec![0], vec![0, 1]]), None);
        assert_eq!(find_cycle(&[vec![1], vec![2], vec![0]]), Some(vec![0, 1, 2]));
        assert_eq!(find_cycle(&[vec![], vec![1]]), Some(vec![1]));
        assert_eq!(find_cycle(&[]), None);
    }
}
