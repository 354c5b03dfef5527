"""What `answer_time` goes with."""


def check_answer_time(*, gaussian: bool, transductive: bool, keeps_rows: bool) -> None:
    """Refuse answer_time= where nothing can be chosen."""
    if not gaussian:
        raise ValueError(
            "answer_time is for likelihood='gaussian': give None, and a smaller n_local such as 50"
        )
    if transductive:
        raise ValueError(
            "answer_time is for inference='inductive', where answers do not depend on each other: "
            "leave one of them out"
        )
    if not keeps_rows:
        raise ValueError(
            "answer_time means nothing with n_local=0, where answers are of the anchors alone, and "
            "quick: leave one of them out"
        )
